"""A loss of ``hidden @ weight.T + bias`` without ever storing the N x V logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels import accumulation_dtype
from ..kernels.linear.total import linear_total, outside_graphs
from ..kernels.tracing import in_transform
from .base import Loss
from .linear_batch import LinearBatch, linear_batch
from .linear_mean import takes_one_walk, total_over_mean
from .linear_rows import block_function, is_row_wise, learns_prior, unreduced
from .rows import Rows


def linear_loss(
    loss: Loss,
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None,
    sample_weight: Tensor | None,
    chunk: int | None,
) -> Tensor:
    """What :meth:`noiseproof.losses.Loss.linear` does.

    The gradients cannot be differentiated again. Where ``torch.compile`` traces, the graph breaks here;
    transforms of ``torch.func`` store the logits after all.
    """
    if not loss.takes_class_targets:
        raise TypeError(f"{loss} takes targets of the logits' shape: use loss(F.linear(...), target)")
    batch = linear_batch(hidden, weight, target, bias, chunk)
    if in_transform():
        found: Tensor = loss(*batch.stored(), sample_weight=sample_weight)
        return found
    return outside_graphs(_chunked)(loss, batch, sample_weight)


def _chunked(loss: Loss, batch: LinearBatch, sample_weight: Tensor | None) -> Tensor:
    rows = batch.rows(loss.ignore_index)
    if rows.is_soft and (not is_row_wise(loss) or learns_prior(loss)):
        raise TypeError(f"{loss} with soft targets looks at all logits: use loss(F.linear(...), target)")
    projection = batch.projection()
    by_class = loss._class_weight(rows)
    hard, soft = (None, by_class) if rows.is_soft else (by_class, None)
    one_walk = takes_one_walk(loss, projection, rows)
    without_gradients = not torch.is_grad_enabled()
    if loss.reduction == "none" or without_gradients or not (is_row_wise(loss) or one_walk):
        values = unreduced(loss, projection, rows, soft)
        return loss._reduce(values, rows, hard, sample_weight)
    share = _shares(loss, rows, hard, sample_weight, accumulation_dtype(projection.dtype))
    if one_walk:
        return total_over_mean(loss, projection, rows, share)
    return linear_total(projection, block_function(loss, rows, soft), share)


def _shares(
    loss: Loss, rows: Rows, weight: Tensor | None, sample_weight: Tensor | None, dtype: torch.dtype
) -> Tensor:
    """How much each row counts in the reduced loss, (N,): the derivative of the reduction."""
    with torch.enable_grad():
        probe = torch.zeros(len(rows.target), dtype=dtype, device=rows.target.device, requires_grad=True)
        reduced = loss._reduce(probe, rows, weight, sample_weight)
        learns = sample_weight is not None and sample_weight.requires_grad
        (share,) = torch.autograd.grad(reduced, probe, create_graph=learns)
    return share
