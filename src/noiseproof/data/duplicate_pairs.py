"""Pairs of samples with the same input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .inputs import Inputs
from .repeats import first_occurrences


@dataclass(frozen=True)
class Duplicate:
    """A sample whose input was seen before: ``first`` and ``second`` are permanent indices, labels are class
    numbers."""

    first: int
    second: int
    first_label: int
    second_label: int

    @property
    def conflicting(self) -> bool:
        """The same input under two labels: at least one is wrong."""
        return self.first_label != self.second_label

    def __str__(self) -> str:
        return self._told(self.first_label, self.second_label)

    def with_names(self, class_names: Sequence[str]) -> str:
        """The same with the names of the labels, as the data has them."""
        return self._told(class_names[self.first_label], class_names[self.second_label])

    def _told(self, first_label: object, second_label: object) -> str:
        labels = f"labels {first_label} and {second_label}" if self.conflicting else "same label"
        return f"sample {self.second} repeats sample {self.first} ({labels})"


class Pairs:
    """Positions ``second`` of all samples that repeat an earlier one, at ``first``."""

    def __init__(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        self.first, self.second = first, second

    @classmethod
    def among(cls, inputs: Inputs) -> Pairs:
        first = first_occurrences(inputs)
        second = np.flatnonzero(first != np.arange(len(first)))
        return cls(first[second], second)

    def __len__(self) -> int:
        return len(self.second)

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.first[chosen], self.second[chosen])

    def conflicting(self, label: Tensor) -> Pairs:
        """Those whose labels differ."""
        labels = label.cpu().numpy()
        return self.where(labels[self.first] != labels[self.second])

    def described(self, label: Tensor, index: Tensor, most: int | None = None) -> list[Duplicate]:
        """The first ``most`` of them with permanent indices and labels, in the order of ``second``."""
        first, second = self.first[:most], self.second[:most]
        columns = [index[first], index[second], label[first], label[second]]
        return [Duplicate(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
