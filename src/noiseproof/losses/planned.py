"""The short way of losses that are no function of row statistics: a plan of their own for the kernels."""

from __future__ import annotations

from torch import Tensor

from ..kernels import Plan, Planned, planned_loss
from .base import Loss
from .fused import MOST_ROWS_OF_ONE_MEAN, plain, reduced


def planned(loss: Loss, logits: Tensor, target: Tensor, plan: Plan, given: Tensor | None = None) -> Tensor:
    """The reduced loss without weights; logits (N, C) and target (N,) as the kernels take them.

    ``given`` is what the kernels read of what the loss holds.
    """
    one_program = loss.reduction == "mean" and logits.shape[0] <= MOST_ROWS_OF_ONE_MEAN
    draws = getattr(loss, "draws", False)

    def again(other: Tensor, saved: tuple[Tensor, ...]) -> Tensor:
        return plain(loss, other, target, one_program, saved[0] if draws else given)

    call = Planned(plan, target, loss.ignore_index, one_program, again)
    return reduced(loss, planned_loss(logits, call), target, one_program)
