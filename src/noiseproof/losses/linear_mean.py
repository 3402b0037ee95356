"""Losses over the mean weight of their batch, of logits that are never stored: one walk, and one division.

All gradients have the same factor, 1 over the mean, which is known when the last row has been judged. Until
then weights are taken relative to the largest there can be, so that no sum of them overflows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels import attach
from ..kernels.linear.sweep import BlockFunction, Projection
from ..kernels.linear.total import linear_total
from .base import Loss
from .compiled import is_divided_by_mean
from .gr import GR, batch_mean
from .linear_rows import block_of
from .margin import row_margins
from .rows import Rows


def takes_one_walk(loss: Loss, projection: Projection, rows: Rows) -> bool:
    """Float16 has no room for gradients that still lack the factor."""
    return (
        is_divided_by_mean(loss)
        and loss.reduction != "none"
        and not rows.is_soft
        and torch.float16 not in (projection.dtype, projection.hidden.dtype, projection.weight.dtype)
    )


def total_over_mean(loss: Loss, projection: Projection, rows: Rows, share: Tensor) -> Tensor:
    """Sum of row values weighted by ``share`` (N,), over the mean weight of the rows that count."""
    assert isinstance(loss, GR)
    classes, unit = rows.logits.shape[1], 1 / loss.peak().emphasis
    weights = torch.zeros_like(share, requires_grad=False)

    def judge(logits: Tensor, block: slice) -> Tensor:
        part = block_of(rows, logits, block)
        delta = row_margins(part)
        value, emphasis = (unit * one for one in loss.evaluate(delta.detach(), num_classes=classes))
        weights[block] = 2 * emphasis
        values = attach(delta, value, emphasis)
        return values if part.keep is None else torch.where(part.keep, values, 0.0)

    total = linear_total(projection, BlockFunction(judge, reads_once=True), share)
    mean = batch_mean(weights, 1.0 if rows.keep is None else rows.keep)
    return total * torch.where(mean > torch.finfo(mean.dtype).tiny, 1 / mean, 0.0)
