"""Conversion of labels to checked numpy int64 arrays; error messages name the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.class_labels import as_class_numbers, check_class_range
from ..data.labelled import LabelledData

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
LabelsLike: TypeAlias = "NDArray[np.generic] | Tensor | Sequence[int]"


def as_numpy(values: object) -> NDArray[np.generic]:
    """Tensors (of any device), arrays and sequences as numpy, without a copy where that is possible."""
    if not isinstance(values, Tensor):
        return np.asarray(values)
    values = values.detach().cpu()
    return np.asarray((values.float() if values.dtype == torch.bfloat16 else values).numpy())


def as_integers(values: object, what: str = "labels") -> Integers:
    """One-dimensional whole numbers of any integer type as int64.

    >>> as_integers(np.array([3, 1], dtype="uint8"))
    array([3, 1])
    """
    if isinstance(values, LabelledData):
        raise TypeError(f"{what} must be an array, got a LabelledData: pass data.label (or data.clean_label)")
    return np.asarray(as_class_numbers(values, what).numpy())


def as_labels(values: object, num_classes: int, what: str = "labels") -> Integers:
    """Class indices from 0 to ``num_classes`` - 1; raises ValueError for the first invalid one.

    >>> as_labels([0, 4], 3)
    Traceback (most recent call last):
    ValueError: labels[1] = 4 is not a valid class: with 3 classes labels run from 0 to 2
    """
    labels = as_integers(values, what)
    check_class_range(torch.from_numpy(labels), num_classes, what)
    return labels


def rows_by_class(labels: Integers) -> list[Integers]:
    """Positions of the labels of every class that occurs, ascending, with one sort for all classes.

    >>> [rows.tolist() for rows in rows_by_class(np.array([5, 0, 5, 0]))]
    [[1, 3], [0, 2]]
    """
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [part for part in parts if part.size]


def as_class_count(num_classes: object) -> int:
    """The number of classes as an int of at least 2."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, (int, np.integer)):
        raise TypeError(f"num_classes must be a whole number, got {num_classes!r}")
    if num_classes < 2:
        raise ValueError(f"num_classes={num_classes} is too small: it must be at least 2")
    return int(num_classes)


def as_tensor(array: Integers | Floats | Mask) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
