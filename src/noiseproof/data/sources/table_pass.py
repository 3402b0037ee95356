"""One pass over a table in pieces: features to a file, labels to memory, problems kept until the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..growing_npy import GrowingNpy
from ..inputs import check_finite
from .table_features import (
    NUMBERS,
    as_float32,
    as_numbers,
    first_no_number,
    first_too_large,
    not_numeric,
    too_large,
)
from .table_file import table_pieces
from .table_label_values import LabelValues
from .table_labels import no_value, unknown_column

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


class FeatureColumns:
    """What the pieces of a table show of its features, put together as if the table were whole.

    pandas chooses the type of a column piece by piece; here a column is numeric if it is so in every piece,
    and not true and false in some and numbers in others.
    """

    def __init__(self, wanted: list[str], columns: list[str], *, from_text: bool) -> None:
        self.wanted, self.columns, self.from_text = wanted, columns, from_text
        self.present = [name for name in wanted if name in columns]
        self.missing: dict[str, int] = {}
        self.kinds: dict[str, set[str]] = {name: set() for name in self.present}
        self.infinite: ValueError | None = None
        self.large: tuple[str, int, float] | None = None
        self.rows = 0

    def add(self, piece: pd.DataFrame) -> NDArray[np.float32] | None:
        """The features of the next rows, or None where there is a problem somewhere up to here."""
        numbers = {}
        for name in self.present:
            gaps = piece[name].isna().to_numpy()
            if gaps.any():
                self.missing.setdefault(name, self.rows + int(gaps.argmax()))
            numbers[name] = as_numbers(piece[name], from_text=self.from_text)
            self.kinds[name].add(numbers[name].dtype.kind)
        start, self.rows = self.rows, self.rows + len(piece)
        if self.missing or not self.wanted or self.present != self.wanted or self.strangers():
            return None
        block = as_float32(numbers, self.wanted)
        self._look_for_infinite(block, numbers, start)
        return None if self.infinite or self.large else block

    def strangers(self) -> list[str]:
        """Columns that are not numeric."""
        return [
            name
            for name, kinds in self.kinds.items()
            if not kinds <= set(NUMBERS) or ("b" in kinds and len(kinds) > 1)
        ]

    def _look_for_infinite(self, block: NDArray[np.float32], numbers: Any, start: int) -> None:
        large = first_too_large(numbers, self.wanted, block)
        if large is not None and self.large is None:
            self.large = large[0], start + large[1], large[2]
        elif large is None and self.infinite is None:
            try:
                check_finite(torch.from_numpy(block), torch.arange(start, start + len(block)), start)
            except ValueError as problem:
                self.infinite = problem

    def problem(self, place: Path, as_text: list[str]) -> Exception | None:
        """The first thing wrong with the features, in the order in which a whole table would show it."""
        for name in self.wanted:
            if name not in self.columns:
                return unknown_column(place, name, self.columns)
            if name in self.missing:
                return no_value(place, name, self.missing[name])
            if name in self.strangers():
                return _not_numeric_in(place, name, len(self.columns), as_text)
        return self.infinite if self.large is None else too_large(place, *self.large)


def _not_numeric_in(place: Path, name: str, width: int, as_text: list[str]) -> TypeError:
    """Reads the column again, as text, for the first value that is no number."""
    start, first = 0, None
    for piece in table_pieces(place, width, [*as_text, name]):
        where = first_no_number(piece[name])
        if where is not None:
            return not_numeric(place, name, start + where, piece[name].iloc[where])
        first = piece[name].iloc[0] if first is None else first
        start += len(piece)
    return not_numeric(place, name, 0, first)


def pass_over(
    place: Path, columns: list[str], labels: dict[str, LabelValues], features: FeatureColumns, target: Path
) -> None:
    """Read all pieces, filling ``labels`` and ``features`` and writing the numbers to ``target``."""
    with target.open("xb") as file:
        rows = GrowingNpy(file, (len(features.wanted),), np.float32)
        for piece in table_pieces(place, len(columns), list(labels)):
            for name, values in labels.items():
                values.add(piece[name])
            block = features.add(piece)
            if block is not None:
                rows.write(block)
        rows.finish()
    if features.rows == 0:
        raise ValueError(f"{place} has no rows")
