"""Rows as they came: tables, texts and sparse matrices, which Features turns into numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..features import Features
from ..features.recognise import recognise
from .inputs import Inputs, Selection


class RawInputs:
    """A DataFrame, a list of strings or a sparse matrix as inputs.

    Training fits Features on its own rows and stores them with the run; ``read`` alone fits them on all rows.
    ``drop_ids=False`` keeps columns that identify rows.

    Example:
        >>> RawInputs(["good film", "bad film"]).read(np.array([1])).shape
        torch.Size([1, 2])
    """

    def __init__(self, values: Any, *, drop_ids: bool = True) -> None:
        self.form, self.values = recognise(values)
        self.drop_ids = drop_ids

    def __len__(self) -> int:
        return int(self.values.shape[0]) if self.form == "sparse" else len(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.values.columns) if self.form == "frame" else ()

    def rows(self, positions: NDArray[np.int64]) -> Any:
        """Some rows, in the form they came in."""
        if self.form == "frame":
            return self.values.iloc[positions]
        return self.values[positions] if self.form == "sparse" else [self.values[at] for at in positions]

    @cached_property
    def features(self) -> Features:
        return Features(drop_ids=self.drop_ids).fit(self.values)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.features.transform(self.rows(positions)))

    def cells(self) -> NDArray[np.int64]:
        """Numbers (n, 1 + columns) that are the same where cells are the same, to look for repeated rows.

        The first is -1 in all rows, because an input of one value throughout is taken for an empty one.
        """
        import pandas as pd  # type: ignore[import-untyped]

        if self.form == "sparse":
            dense = self.values.tocsr()
            ends = zip(dense.indptr[:-1], dense.indptr[1:], strict=True)
            texts = [(dense.indices[a:b].tobytes(), dense.data[a:b].tobytes()) for a, b in ends]
            return np.column_stack([np.full(len(self), -1), pd.factorize(pd.Series(texts, dtype=object))[0]])
        columns = [self.values[name] for name in self.columns] if self.form == "frame" else [self.values]
        codes = [pd.factorize(pd.Series(column, dtype=object).astype(str))[0] for column in columns]
        return np.column_stack([np.full(len(self), -1), *codes])


def is_raw(values: object) -> bool:
    """Whether somebody passed rows that only Features can read: no tensor and no array of numbers."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "OUST" and values.ndim in (1, 2)
    named = {base.__name__ for base in type(values).__mro__}
    if named & {"DataFrame", "Series", "spmatrix", "sparray", "_spbase", "dict"} or hasattr(
        values, "to_pandas"
    ):
        return True
    return isinstance(values, (list, tuple)) and len(values) > 0


def as_inputs(values: Any) -> Any:
    """Rows that only Features can read as RawInputs; anything else as it is."""
    if not is_raw(values):
        return values
    rows = RawInputs(values)
    return rows.values if rows.form == "array" else rows


def raw_rows(inputs: Inputs) -> Any | None:
    """The rows as they came; None where inputs are numbers already."""
    if isinstance(inputs, Selection) and isinstance(inputs.base, RawInputs):
        return inputs.base.rows(inputs.rows)
    return inputs.values if isinstance(inputs, RawInputs) else None


def raw_bytes(inputs: Inputs) -> bytes:
    """All cells of these rows, to tell whether they are the same as before."""
    rows: Any = raw_rows(inputs)
    if hasattr(rows, "indptr"):
        return b"".join(part.tobytes() for part in (rows.indptr, rows.indices, rows.data))
    return (rows.to_csv() if hasattr(rows, "to_csv") else "\0".join(map(str, rows or ()))).encode()


def keeps_ids(inputs: Inputs) -> bool:
    """Whether columns that identify rows were asked for by name."""
    base = inputs.base if isinstance(inputs, Selection) else inputs
    return isinstance(base, RawInputs) and not base.drop_ids
