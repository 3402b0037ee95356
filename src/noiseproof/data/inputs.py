"""Batches, and inputs of any kind with a common way to read their rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..features import Features
from ..features.recognise import recognise


class Batch(NamedTuple):
    """Inputs, given labels and permanent numbers of a batch.

    It does not contain clean labels, which are for metrics only.

    Shape:
        input (B, ...), label (B,) int64, index (B,) int64
    Example:
        >>> batch = Batch(torch.zeros(2, 3), torch.tensor([0, 1]), torch.tensor([7, 9]))
        >>> batch.to("cpu").index
        tensor([7, 9])
    """

    input: Tensor
    label: Tensor
    index: Tensor  # type: ignore[assignment]
    """Permanent number of each sample in its dataset; shadows ``tuple.index``."""

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """The same batch on another device."""
        return Batch(*(part.to(device, non_blocking=non_blocking) for part in self))


Positions: TypeAlias = Sequence[int] | NDArray[Any] | Tensor | slice


def as_positions(chosen: Positions, count: int) -> NDArray[np.int64]:
    """Positions 0 ... count - 1 as an int64 array, also from a slice or a bool mask of all samples.

    Example:
        >>> as_positions(slice(1, None, 2), 5)
        array([1, 3])
        >>> as_positions([0, 5], 5)
        Traceback (most recent call last):
        IndexError: position 5 (element 1) is out of range: 0 ... 4
    """
    if isinstance(chosen, slice):
        return np.arange(*chosen.indices(count), dtype=np.int64)
    array = chosen.detach().cpu().numpy() if isinstance(chosen, Tensor) else np.asarray(chosen)
    if array.size == 0 and array.ndim == 1 and array.dtype != np.bool_:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise TypeError(f"positions must be a row of integers, got shape {array.shape} of {array.dtype}")
    if array.dtype == np.bool_:
        if len(array) != count:
            raise IndexError(f"the mask has {len(array)} entries for {count} samples")
        return np.flatnonzero(array)
    outside = (array < 0) | (array >= count)
    if outside.any():
        where = int(outside.argmax())
        raise IndexError(f"position {array[where]} (element {where}) is out of range: 0 ... {count - 1}")
    return np.array(array, np.int64)


def check_index(index: Tensor, count: int) -> None:
    """ValueError unless the index has one unique number >= 0 for each sample."""
    if len(index) != count:
        raise ValueError(f"index has {len(index)} entries for {count} samples")
    numbers, counts = np.unique(index.cpu().numpy(), return_counts=True)
    if numbers[0] < 0 or counts.max() > 1:
        number = numbers[0] if numbers[0] < 0 else numbers[counts.argmax()]
        raise ValueError(f"index contains {number}, but each sample needs a unique number >= 0")


def check_no_repeats(rows: NDArray[np.int64]) -> None:
    """ValueError if a position occurs twice."""
    positions, counts = np.unique(rows, return_counts=True)
    if len(positions) < len(rows):
        where = int((counts > 1).argmax())
        raise ValueError(
            f"position {positions[where]} occurs {counts[where]} times, but a subset cannot repeat samples:"
            " their permanent numbers must be unique. A batch can repeat them"
        )


def warn_of_empty_classes(label: Tensor, class_names: tuple[str, ...]) -> None:
    counts = torch.bincount(label.cpu(), minlength=len(class_names))
    empty = [f"{number} ({class_names[number]})" for number in (counts == 0).nonzero().flatten().tolist()]
    if empty:
        more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
        warnings.warn(f"no sample has the label {', '.join(empty[:10])}{more}", stacklevel=4)


CHUNK = 1 << 22
"""Number of elements that are checked together, which bounds the memory of the check."""


@runtime_checkable
class LazyInputs(Protocol):
    """Protocol of inputs with a length that read rows on demand, e.g. ``ImageFiles``."""

    def __len__(self) -> int: ...

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        """Rows at these positions, stacked."""
        ...


Inputs: TypeAlias = Tensor | NDArray[Any] | LazyInputs


class Selection:
    """A part of the rows of other inputs, without a copy."""

    def __init__(self, base: Inputs, rows: NDArray[np.int64]) -> None:
        self.base, self.rows = base, rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        return read_rows(self.base, self.rows[positions])


def select(inputs: Inputs, rows: NDArray[np.int64]) -> Selection:
    """Select rows of the inputs; a selection of a selection refers to the original inputs."""
    if isinstance(inputs, Selection):
        return Selection(inputs.base, inputs.rows[rows])
    return Selection(inputs, rows)


def read_rows(inputs: Inputs, positions: NDArray[np.int64]) -> Tensor:
    """Read rows as a new tensor."""
    if isinstance(inputs, Tensor):
        return inputs.index_select(0, torch.from_numpy(positions).to(inputs.device))
    if isinstance(inputs, np.ndarray):
        rows = np.ascontiguousarray(inputs[positions])
        return torch.from_numpy(rows.astype(rows.dtype.newbyteorder("="), copy=False))
    return inputs.read(positions)


def streams(inputs: Inputs) -> bool:
    """Whether values are read on demand, so that they can only be checked then."""
    if isinstance(inputs, Selection):
        return streams(inputs.base)
    return isinstance(inputs, np.memmap) or not isinstance(inputs, (Tensor, np.ndarray))


def check_inputs(inputs: object) -> None:
    """TypeError or ValueError unless inputs have a valid type and dtype."""
    if isinstance(inputs, np.ndarray) and inputs.dtype.kind not in "iubf":
        raise TypeError(f"inputs have dtype {inputs.dtype}: expected numbers or bools")
    if not isinstance(inputs, (Tensor, np.ndarray, LazyInputs)):
        raise TypeError(
            f"inputs are a {type(inputs).__name__}: expected a tensor, a numpy array, or an object with"
            " __len__ and read(positions)"
        )
    if isinstance(inputs, (Tensor, np.ndarray)) and inputs.ndim == 0:
        raise ValueError("inputs are a scalar: expected one row per sample")


def check_values(inputs: Inputs, index: Tensor) -> None:
    """ValueError if values in memory are not finite, with the permanent number of the sample."""
    if not isinstance(inputs, (Tensor, np.ndarray)) or streams(inputs):
        return
    if not (inputs.is_floating_point() if isinstance(inputs, Tensor) else inputs.dtype.kind == "f"):
        return
    step = max(1, CHUNK // max(1, int(np.prod(inputs.shape[1:]))))
    for start in range(0, len(inputs), step):
        positions = np.arange(start, min(start + step, len(inputs)))
        check_finite(read_rows(inputs, positions), index[start : start + step], start)


def check_finite(rows: Tensor, index: Tensor, start: int | None = None) -> None:
    """ValueError with the number of the first sample that has a value which is not finite in float32.

    ``start`` is the position of the first row in the whole data, if known.
    """
    if not rows.is_floating_point() or rows.numel() == 0:
        return
    finite = rows.float().isfinite().reshape(len(rows), -1).all(1)
    if not bool(finite.all()):
        where = int((~finite).nonzero()[0])
        number, position = int(index[where]), None if start is None else start + where
        at = "" if position in (None, number) else f" (at position {position})"
        raise ValueError(f"the input of sample {number}{at} contains {_why_not_finite(rows[where])}")


def _why_not_finite(row: Tensor) -> str:
    """The first value that is not finite in float32, the reason and the remedy."""
    position = (~row.float().isfinite()).nonzero()[0].tolist()
    value = float(row[tuple(position)])
    if not math.isfinite(value):
        return f"{value}: inputs must be finite; repair the sample or leave it out with subset"
    return (
        f"{value:g}{f' at {position}' if position else ''}, which exceeds the largest float32,"
        f" {torch.finfo(torch.float32).max:.3g}: scale the values, or leave the sample out with subset"
    )


class RawInputs:
    """A DataFrame, a list of strings or a sparse matrix as inputs.

    Training fits Features on its own rows and stores them with the run; ``read`` without a run fits them on
    all rows. ``settings`` are the arguments of Features.

    Example:
        >>> RawInputs(["good film", "bad film"]).read(np.array([1])).shape
        torch.Size([1, 2])
    """

    def __init__(self, values: Any, **settings: Any) -> None:
        self.form, self.values = recognise(values)
        self.settings = settings

    def __len__(self) -> int:
        return int(self.values.shape[0]) if self.form == "sparse" else len(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.values.columns) if self.form == "frame" else ()

    def rows(self, positions: NDArray[np.int64]) -> Any:
        """Rows in their original type."""
        if self.form == "frame":
            return self.values.iloc[positions]
        return self.values[positions] if self.form == "sparse" else [self.values[at] for at in positions]

    @cached_property
    def features(self) -> Features:
        return Features(**self.settings).fit(self.values)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.features.transform(self.rows(positions)))

    def cells(self) -> NDArray[np.int64]:
        """Numbers (n, 1 + columns) that are equal for equal cells, to find repeated rows.

        The first column is -1, so that no row is constant, which would count as an empty input.
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
    """Whether values need Features to be encoded: they are not a tensor or an array of numbers."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "OUST" and values.ndim in (1, 2)
    named = {base.__name__ for base in type(values).__mro__}
    if named & {"DataFrame", "Series", "spmatrix", "sparray", "_spbase", "dict"} or hasattr(
        values, "to_pandas"
    ):
        return True
    return isinstance(values, (list, tuple)) and len(values) > 0


def as_inputs(values: Any) -> Any:
    """Wrap rows that need Features in RawInputs; return other values unchanged."""
    if not is_raw(values):
        return values
    rows = RawInputs(values)
    return rows.values if rows.form == "array" else rows


def raw_rows(inputs: Inputs) -> Any | None:
    """The original rows; None if inputs are numbers."""
    if isinstance(inputs, Selection) and isinstance(inputs.base, RawInputs):
        return inputs.base.rows(inputs.rows)
    return inputs.values if isinstance(inputs, RawInputs) else None


def raw_bytes(inputs: Inputs) -> bytes:
    """All cells of these rows as bytes, for a fingerprint."""
    rows: Any = raw_rows(inputs)
    if hasattr(rows, "indptr"):
        return b"".join(part.tobytes() for part in (rows.indptr, rows.indices, rows.data))
    return (rows.to_csv() if hasattr(rows, "to_csv") else "\0".join(map(str, rows or ()))).encode()


def settings_of(inputs: Inputs) -> dict[str, Any]:
    """The arguments of Features for these rows."""
    base = inputs.base if isinstance(inputs, Selection) else inputs
    return base.settings if isinstance(base, RawInputs) else {}
