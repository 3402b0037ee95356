"""Losses that are functions of several row statistics, not only of the margin."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from ..kernels import Mass, Partials, RowFunction, Statistics, Wanted
from .base import Loss
from .checks import check_wanted
from .printing import is_of_library


class StatisticsLoss(Loss):
    """Base of such losses: implement ``value_and_partials`` and set ``wanted`` to the sums that it reads.

    Adding a number to all logits of a row must not change the loss, as for any function of a softmax.
    """

    wanted: ClassVar[Wanted]

    def value_and_partials(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        """Values and their derivatives with respect to the statistics, elementwise."""
        raise NotImplementedError(f"{type(self).__name__} must define value_and_partials(row, classes)")

    def build_row_function(self, num_classes: int) -> RowFunction:
        def evaluate(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
            return self.value_and_partials(row, classes)

        function = RowFunction(evaluate, self.wanted)
        if not torch.compiler.is_compiling() and not is_of_library(type(self)):
            check_wanted(str(self), function)
        return function
