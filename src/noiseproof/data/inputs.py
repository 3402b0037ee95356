"""Inputs in memory, memory-mapped or read from files when asked: one way to read rows of them."""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CHUNK = 1 << 22
"""Elements looked at together when values are checked: bounds the memory of the check."""


@runtime_checkable
class LazyInputs(Protocol):
    """Anything of a known length that can read rows on demand, e.g. ``ImageFiles``."""

    def __len__(self) -> int: ...

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        """Rows at these positions, stacked."""
        ...


Inputs: TypeAlias = Tensor | NDArray[Any] | LazyInputs


class Selection:
    """Some rows of other inputs, without a copy."""

    def __init__(self, base: Inputs, rows: NDArray[np.int64]) -> None:
        self.base, self.rows = base, rows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        return read_rows(self.base, self.rows[positions])


def select(inputs: Inputs, rows: NDArray[np.int64]) -> Selection:
    """Rows of the inputs; a selection of a selection refers to the first inputs."""
    if isinstance(inputs, Selection):
        return Selection(inputs.base, inputs.rows[rows])
    return Selection(inputs, rows)


def read_rows(inputs: Inputs, positions: NDArray[np.int64]) -> Tensor:
    """Rows as a new tensor; only these are read."""
    if isinstance(inputs, Tensor):
        return inputs.index_select(0, torch.from_numpy(positions).to(inputs.device))
    if isinstance(inputs, np.ndarray):
        rows = np.ascontiguousarray(inputs[positions])
        return torch.from_numpy(rows.astype(rows.dtype.newbyteorder("="), copy=False))
    return inputs.read(positions)


def streams(inputs: Inputs) -> bool:
    """Whether values arrive only when read, so that checks must wait until then."""
    if isinstance(inputs, Selection):
        return streams(inputs.base)
    return isinstance(inputs, np.memmap) or not isinstance(inputs, (Tensor, np.ndarray))


def check_inputs(inputs: object) -> None:
    """Kind and dtype."""
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
    """Finiteness of values in memory, some rows at a time; messages name the permanent number."""
    if not isinstance(inputs, (Tensor, np.ndarray)) or streams(inputs):
        return
    if not (inputs.is_floating_point() if isinstance(inputs, Tensor) else inputs.dtype.kind == "f"):
        return
    step = max(1, CHUNK // max(1, int(np.prod(inputs.shape[1:]))))
    for start in range(0, len(inputs), step):
        positions = np.arange(start, min(start + step, len(inputs)))
        check_finite(read_rows(inputs, positions), index[start : start + step], start)


def check_finite(rows: Tensor, index: Tensor, start: int | None = None) -> None:
    """No NaN, no infinity and, as networks compute in float32, nothing that becomes infinite there; otherwise
    the index of the first sample that has one is named.

    ``start`` is the position of the first row in all of the data, where it is known.
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
    """The first value that is not finite in float32, what is wrong with it and what to do."""
    place = (~row.float().isfinite()).nonzero()[0].tolist()
    value = float(row[tuple(place)])
    if not math.isfinite(value):
        return f"{value}: inputs must be finite; repair the sample or leave it out with subset"
    return (
        f"{value:g}{f' at {place}' if place else ''}, but networks compute in float32, which ends at"
        f" {torch.finfo(torch.float32).max:.3g}: scale the values, or leave the sample out with subset"
    )
