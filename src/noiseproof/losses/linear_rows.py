"""What a loss asks of a row of logits that is never stored, and what it must know of the batch beforehand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..kernels import attach
from ..kernels.linear.margin import linear_margin_rows
from ..kernels.linear.sweep import BlockFunction, Projection
from ..kernels.linear.total import linear_rows
from .algebra import Sum
from .base import Loss
from .cr import CR
from .custom import CustomLoss
from .finite import check_margins
from .margin_loss import MarginLoss
from .peer import Peer
from .printing import is_of_library
from .rows import Rows
from .statistics_loss import StatisticsLoss
from .trial import margins_meet, rows_meet


def is_row_wise(loss: Loss) -> bool:
    """True if, the labels of the batch being known, each row of logits is judged by itself."""
    alone = loss.defined_per_class and getattr(loss, "normalize", "none") != "batch"
    return alone and not _may_compare_rows(loss) and all(is_row_wise(part) for part in loss.inner)


def _may_compare_rows(loss: Loss) -> bool:
    """True of a user's loss that looks at the batch, found by trying it."""
    if is_of_library(type(loss)) and not isinstance(loss, CustomLoss):
        return False
    if isinstance(loss, MarginLoss):
        return margins_meet(loss)
    return isinstance(loss, StatisticsLoss) and rows_meet(loss)


def learns_prior(loss: Loss) -> bool:
    """True if it takes the label frequencies of the batch."""
    return (isinstance(loss, CR) and loss.prior is None) or any(learns_prior(part) for part in loss.inner)


def block_function(loss: Loss, rows: Rows, weight: Tensor | None) -> BlockFunction:
    """The unreduced loss of a block of rows; ``rows`` holds all targets, ``weight`` soft class weights."""
    if rows.is_soft:
        return BlockFunction(
            lambda logits, block: loss.soft_rows(
                logits, rows.target[block] if weight is None else rows.target[block] * weight
            )
        )
    if not learns_prior(loss):
        reads_once = loss.row_function(rows.logits.shape[1], 1.0) is not None
        return BlockFunction(lambda logits, block: loss.hard_rows(block_of(rows, logits, block)), reads_once)
    if isinstance(loss, Sum):
        parts = [block_function(part, rows, None).judge for part in loss.inner]
        return BlockFunction(lambda logits, block: loss._total([part(logits, block) for part in parts]))
    assert isinstance(loss, CR)
    return BlockFunction(_confident(loss, rows))


def unreduced(loss: Loss, projection: Projection, rows: Rows, weight: Tensor | None) -> Tensor:
    """The unreduced loss (N,), its logits made once more in the backward pass.

    A loss that looks at the whole batch walks over the logits once for its margins or for each part.
    """
    if isinstance(loss, MarginLoss) and not rows.is_soft:
        return _of_all_margins(loss, projection, rows)
    if is_row_wise(loss):
        return linear_rows(projection, block_function(loss, rows, weight))
    return _of_batch(loss, projection, rows)


def _of_batch(loss: Loss, projection: Projection, rows: Rows) -> Tensor:
    if isinstance(loss, Sum):
        return loss._total([unreduced(part, projection, rows, None) for part in loss.inner])
    if isinstance(loss, Peer):
        a, b = loss._permutations(rows.target, rows.keep)
        own = unreduced(loss.base, projection, rows, None)
        elsewhere, others = projection.hidden[a], rows._replace(target=rows.target[b])
        peers = unreduced(loss.base, projection._replace(hidden=elsewhere), others, None)
        return own - loss.alpha * peers
    raise TypeError(
        f"{loss} compares rows in a way that needs all logits at once: use"
        " loss(F.linear(hidden, weight, bias), target)"
    )


def _of_all_margins(loss: MarginLoss, projection: Projection, rows: Rows) -> Tensor:
    delta = margins_of(projection, rows)
    mass = 1.0 if rows.keep is None else rows.keep
    found = loss.evaluate(delta.detach(), num_classes=rows.logits.shape[1], mass=mass)
    values = attach(delta, *found)
    return values if rows.keep is None else torch.where(rows.keep, values, 0.0)


def margins_of(projection: Projection, rows: Rows) -> Tensor:
    """(N,), 0 where ignored."""
    return linear_margin_rows(projection, rows.target, rows.keep, check_margins)


def _confident(loss: CR, rows: Rows) -> Callable[[Tensor, slice], Tensor]:
    """The label frequencies are those of the batch, not of the block."""
    prior = loss._prior(rows.logits, rows.target, rows.keep)
    own = block_function(loss.base, rows, None).judge

    def of_block(logits: Tensor, block: slice) -> Tensor:
        keep = None if rows.keep is None else rows.keep[block]
        kept = logits if keep is None else torch.where(keep.unsqueeze(1), logits, 0.0)
        found = own(kept, block) - loss.beta * loss._blind(kept, prior)
        return found if keep is None else torch.where(keep, found, 0.0)

    return of_block


def block_of(rows: Rows, logits: Tensor, block: slice) -> Rows:
    target = rows.target[block]
    return Rows(logits, target, None if rows.keep is None else rows.keep[block], target.shape)
