"""Superclasses: which classes can be mistaken for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .arrays import Integers, as_numpy

GROUPINGS = ("superclass", "index_block", "all")
GroupsLike: TypeAlias = "NDArray[np.generic] | Tensor | Sequence[int] | Sequence[str]"


def as_groups(groups: object, num_classes: int) -> Integers | None:
    """The group of every class as numbers from 0, in sorted order of the given names.

    >>> as_groups(["fish", "bird", "fish"], 3)
    array([1, 0, 1])
    """
    if groups is None:
        return None
    array = as_numpy(groups)
    if array.shape != (num_classes,):
        raise ValueError(
            f"groups must give one group for each of the {num_classes} classes, got shape {array.shape}"
        )
    if array.dtype.kind not in "iubUS":
        raise TypeError(f"groups must be whole numbers or names, got {array.dtype}")
    numbers: Integers = np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return numbers


def members(
    grouping: str, block: int, groups: Integers | None, num_classes: int, noise: str
) -> list[Integers]:
    """The classes of every group, in ascending order; ValueError for a group of one class."""
    if grouping == "all":
        groups = np.zeros(num_classes, dtype=np.int64)
    elif grouping == "index_block":
        if num_classes % block:
            raise ValueError(
                f"{noise}: {num_classes} classes do not split into blocks of {block}: set block="
            )
        groups = np.arange(num_classes) // block
    elif groups is None:
        raise ValueError(
            f'{noise}: the superclasses are missing: write {noise}(..., grouping="all") if all classes are'
            ' one group, grouping="index_block" for blocks of consecutive classes, or from Python pass'
            " groups= (class -> group)"
        )
    found = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    for classes in found:
        if len(classes) < 2:
            raise ValueError(
                f"{noise}: class {classes[0]} is the only class of its group: merge this group with another"
            )
    return found
