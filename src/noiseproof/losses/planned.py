"""The short way of losses that are no function of row statistics: a plan of their own for the kernels."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..kernels import Plan, Planned, planned_loss
from .base import Loss
from .fused import MOST_ROWS_OF_ONE_MEAN, reduced
from .launched import lesson_for
from .rows import Rows, as_rows


def planned(
    loss: Loss,
    logits: Tensor,
    target: Tensor,
    plan: Plan,
    plain: Callable[[Rows, tuple[Tensor, ...]], Tensor] | None = None,
) -> Tensor:
    """The reduced loss without weights; logits (N, C) and target (N,) as the kernels take them.

    ``plain`` are its rows as torch expressions, from what the first pass left; None for ``loss.hard_rows``.
    """
    one_program = loss.reduction == "mean" and logits.shape[0] <= MOST_ROWS_OF_ONE_MEAN

    def again(other: Tensor, saved: tuple[Tensor, ...]) -> Tensor:
        rows = as_rows(other, target, loss.ignore_index)
        values = loss.hard_rows(rows) if plain is None else plain(rows, saved)
        return loss._reduce(values, rows, None, None) if one_program else values

    number = lesson_for(loss, logits) if one_program else None
    call = Planned(plan, target, loss.ignore_index, one_program, again, number)
    return reduced(loss, planned_loss(logits, call), target, one_program)
