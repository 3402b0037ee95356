"""Which samples: slices, ranges, masks, lists, arrays or tensors to positions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Positions: TypeAlias = Sequence[int] | NDArray[Any] | Tensor | slice


def as_positions(chosen: Positions, count: int) -> NDArray[np.int64]:
    """Positions 0 ... count - 1 as an int64 array; a bool mask of all samples chooses the true ones.

    Example:
        >>> as_positions(slice(1, None, 2), 5)
        array([1, 3])
        >>> as_positions([0, 5], 5)
        Traceback (most recent call last):
        IndexError: position 5 (number 1 of those asked for) is outside 0 ... 4
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
    stray = (array < 0) | (array >= count)
    if stray.any():
        where = int(stray.argmax())
        raise IndexError(
            f"position {array[where]} (number {where} of those asked for) is outside 0 ... {count - 1}"
        )
    return np.array(array, np.int64)


def check_index(index: Tensor, count: int) -> None:
    """One number >= 0 of its own for each sample."""
    if len(index) != count:
        raise ValueError(f"index has {len(index)} entries for {count} samples")
    numbers, counts = np.unique(index.cpu().numpy(), return_counts=True)
    if numbers[0] < 0 or counts.max() > 1:
        number = numbers[0] if numbers[0] < 0 else numbers[counts.argmax()]
        raise ValueError(f"index contains {number}, but each sample needs a number >= 0 of its own")


def check_no_repeats(rows: NDArray[np.int64]) -> None:
    """No position twice."""
    positions, counts = np.unique(rows, return_counts=True)
    if len(positions) < len(rows):
        where = int((counts > 1).argmax())
        raise ValueError(
            f"position {positions[where]} is asked for {counts[where]} times, but a subset has every sample"
            " once because its permanent index names one sample; batch may repeat samples"
        )


def warn_of_empty_classes(label: Tensor, class_names: tuple[str, ...]) -> None:
    counts = torch.bincount(label.cpu(), minlength=len(class_names))
    empty = [f"{number} ({class_names[number]})" for number in (counts == 0).nonzero().flatten().tolist()]
    if empty:
        more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
        warnings.warn(f"no sample has the label {', '.join(empty[:10])}{more}", stacklevel=4)
