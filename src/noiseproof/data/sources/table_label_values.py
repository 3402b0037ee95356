"""Columns of labels of a table that comes in pieces: the different values, and which one each row has."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .table_file import CSV

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


class LabelColumn(NamedTuple):
    """Row i holds ``values[codes[i]]``, and nothing where the code is -1."""

    values: list[Any]
    codes: NDArray[np.int64]

    def series(self) -> pd.Series[Any]:
        """The column as pandas would have it if it had read the table whole."""
        import pandas as pd  # type: ignore[import-untyped]

        kind = None if self.values else object
        return pd.Series(self.values, dtype=kind).reindex(self.codes).reset_index(drop=True)


class LabelValues:
    """Collects one column, piece by piece."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.codes: list[NDArray[np.int64]] = []
        self.kind = ""

    def add(self, column: pd.Series[Any]) -> None:
        import pandas as pd  # type: ignore[import-untyped]

        self.kind = self.kind or column.dtype.kind
        codes, values = pd.factorize(column)
        known = [self.numbers.setdefault(value, len(self.numbers)) for value in values.tolist()]
        self.codes.append(np.array([*known, -1], np.int64)[codes])

    def column(self, *, from_text: bool) -> LabelColumn:
        """All rows; only now, with every value known, is it decided whether text means numbers."""
        values = list(self.numbers)
        if from_text:
            values = _read_together(values)
        elif self.kind not in "iubf":
            values = [str(value) for value in values]
        return LabelColumn(values, np.concatenate([np.empty(0, np.int64), *self.codes]))


def _read_together(texts: list[str]) -> list[Any]:
    """What pandas makes of a column with these fields.

    Example:
        >>> _read_together(["1", "02"]), _read_together(["1", "02", "x"])
        ([1, 2], ['1', '02', 'x'])
    """
    import pandas as pd  # type: ignore[import-untyped]

    if not texts:
        return []
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["label"], *([text] for text in texts)])
    file.seek(0)
    found: list[Any] = pd.read_csv(file, **CSV)["label"].tolist()
    return found


def write_labels(folder: Path, columns: Mapping[str, LabelColumn]) -> None:
    """One array of codes for each column, and the values of all."""
    for number, column in enumerate(columns.values()):
        np.save(folder / f"codes{number}.npy", column.codes)
    values = {name: column.values for name, column in columns.items()}
    (folder / "values.json").write_text(json.dumps(values))


def read_labels(folder: Path) -> dict[str, LabelColumn]:
    """The columns that ``write_labels`` wrote, or none of them if a file is missing or damaged."""
    try:
        values = json.loads((folder / "values.json").read_text())
        codes = [np.load(folder / f"codes{number}.npy", allow_pickle=False) for number in range(len(values))]
    except (OSError, ValueError, EOFError):
        return {}
    return {name: LabelColumn(values[name], codes[number]) for number, name in enumerate(values)}
