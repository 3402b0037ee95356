"""Losses that need more of a row than its margin: the other row statistics."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from ..kernels import Mass, Partials, RowFunction, Statistics, Wanted
from .base import Loss
from .checks import check_wanted
from .printing import is_of_library


class StatisticsLoss(Loss):
    """Implement ``judge``, a function of the row statistics, and name the sums it wants.

    Like every loss of a softmax it must not change when a number is added to all logits of a row.
    """

    wanted: ClassVar[Wanted]

    def judge(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        """Values and their derivatives with respect to the statistics, elementwise."""
        raise NotImplementedError(f"{type(self).__name__} must define judge(row, classes)")

    def build_row_function(self, num_classes: int) -> RowFunction:
        def evaluate(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
            return self.judge(row, classes)

        function = RowFunction(evaluate, self.wanted)
        if not torch.compiler.is_compiling() and not is_of_library(type(self)):
            check_wanted(str(self), function)
        return function
