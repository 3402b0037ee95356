"""Losses that need more of a row than its margin: the other row statistics, or all classes at once."""

from typing import ClassVar
from weakref import WeakSet

import torch
from torch import Tensor

from ..kernels import OwnAndBlind, Partials, RowFunction, Statistics, Wanted, statistics_loss_rows
from .base import Loss
from .compiled import compiled_rows
from .finite import check_margins
from .printing import is_of_library
from .rows import Rows
from .trial import check_wanted


class RowLoss(Loss):
    """Implement ``index_rows``; rows that are ignored reach it as zeros and are dropped after it."""

    held: ClassVar[str | None] = None
    """The buffer the kernels read, of a loss that has one."""
    draws: ClassVar[bool] = False
    """Whether they draw labels from it, and count it on while training."""

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        """Unreduced loss of class indices, (N, C), (N,) -> (N,)."""
        raise NotImplementedError

    def divided_plan(self) -> OwnAndBlind | None:
        """How the kernels take a loss that is divided by its sum over all classes; None for any other."""
        return None

    def kept_rows(self, rows: Rows, kept: Tensor) -> Tensor:
        """``hard_rows`` as expressions, from the labels a first pass drew, or else the buffer it read."""
        raise NotImplementedError

    def kernel_rows(self, rows: Rows) -> Tensor | None:
        """The same on a GPU without N x C temporaries, ignored rows whatever; None if that is impossible."""
        return None

    def hard_rows(self, rows: Rows) -> Tensor:
        found = compiled_rows(self, rows)
        if found is not None:
            return found
        found = self.kernel_rows(rows)
        if found is not None:
            return found if rows.keep is None else torch.where(rows.keep, found, 0.0)
        if rows.keep is None:
            return self.index_rows(rows.logits, rows.target, None)
        logits = torch.where(rows.keep.unsqueeze(1), rows.logits, 0.0)
        return torch.where(rows.keep, self.index_rows(logits, rows.target, rows.keep), 0.0)


_looked_at: WeakSet[Loss] = WeakSet()
"""Losses of users that ``check_wanted`` has seen."""


class StatisticsLoss(Loss):
    """Implement ``judge``, a function of the row statistics, and name the sums it wants.

    Like every loss of a softmax it must not change when a number is added to all logits of a row.
    """

    wanted: ClassVar[Wanted]

    def judge(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        """Values and their derivatives with respect to the statistics, all columns (N, 1)."""
        raise NotImplementedError

    def row_function(self, num_classes: int, mass: Tensor | float) -> RowFunction:
        if not torch.compiler.is_compiling() and not is_of_library(type(self)) and self not in _looked_at:
            check_wanted(self)
            _looked_at.add(self)
        return RowFunction(self.judge, self.wanted)

    def hard_rows(self, rows: Rows) -> Tensor:
        found = compiled_rows(self, rows)
        if found is not None:
            return found
        return rows_of(self.row_function(rows.logits.shape[1], 1.0), rows)


def rows_of(function: RowFunction, rows: Rows) -> Tensor:
    """The unreduced loss (N,) of a function of more than the margin."""

    def evaluate(row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        check_margins(row.margin, rows.logits, rows.target)
        return function.evaluate(row, classes)

    return statistics_loss_rows(rows.logits, rows.target, evaluate, function.wanted or Wanted(), rows.keep)
