"""Labels as users have them to int64 class numbers, with errors that name the sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NUMBER_THEM = "number the classes 0 ... K-1 first and pass their names as class_names"


def as_class_numbers(values: object, what: str = "label") -> Tensor:
    """Integers of any size or bools, as an int64 tensor (N,) of its own.

    Example:
        >>> as_class_numbers([True, False])
        tensor([1, 0])
        >>> as_class_numbers([0.0, 2.0])
        Traceback (most recent call last):
        TypeError: label[0] = 0.0 is a float64: class labels are integers; these are whole ...
    """
    if isinstance(values, Tensor) and values.dtype == torch.bfloat16:
        raise TypeError(
            f"{what} is bfloat16, which rounds class numbers above 256: pass the integers it was made from"
        )
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(
            f"{what} has shape {array.shape}: expected one class number per sample, shape (N,)"
            + ("; for one-hot or soft labels take argmax(1)" if array.ndim == 2 else "")
        )
    if array.size and array.dtype.kind not in "iub":
        raise TypeError(_why_no_class_numbers(array, what))
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        where = int(array.argmax())
        raise ValueError(f"{what}[{where}] = {array[where]} does not fit into 64 bits with a sign")
    return torch.from_numpy(np.array(array, dtype=np.int64))


def check_class_range(
    labels: Tensor, num_classes: int, what: str = "label", index: Tensor | None = None
) -> None:
    """Every label is in 0 ... num_classes - 1; ``index`` holds the permanent numbers of the samples.

    Example:
        >>> check_class_range(torch.tensor([0, 3]), 3)
        Traceback (most recent call last):
        ValueError: label[1] = 3 is no class: with 3 classes labels run from 0 to 2
    """
    stray = (labels < 0) | (labels >= num_classes)
    if bool(stray.any()):
        where = int(stray.nonzero()[0])
        raise ValueError(
            f"{what}[{where}] = {int(labels[where])} is no class: with {num_classes} classes labels run"
            f" from 0 to {num_classes - 1}{sample_at(where, index)}"
        )


def sample_at(position: int, index: Tensor | None) -> str:
    """The end of a message about a position, where the sample there has another permanent number.

    Example:
        >>> sample_at(1, torch.tensor([7, 9]))
        ' (position 1 is sample 9)'
    """
    number = position if index is None or position >= len(index) else int(index[position])
    return "" if number == position else f" (position {position} is sample {number})"


def _why_no_class_numbers(array: NDArray[Any], what: str) -> str:
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.round(array))
        where = 0 if whole.all() else int(np.argmin(whole))
        hint = (
            "these are whole numbers, so convert them with .astype('int64') or .long()"
            if whole.all()
            else "this one is not even a whole number"
        )
    else:
        odd = [not isinstance(value, (int, np.integer)) for value in array]
        where = odd.index(True) if True in odd else 0
        hint = NUMBER_THEM
    kind = array.dtype if array.dtype.kind == "f" else type(array[where]).__name__
    return f"{what}[{where}] = {array[where]!s} is a {kind}: class labels are integers; {hint}"
