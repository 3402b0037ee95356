r"""The margin and the other row statistics, from which all losses are computed.

.. math:: \Delta = z_y - \log\sum_{j\ne y} e^{z_j}, \qquad p_y = \mathrm{sigmoid}(\Delta), \qquad
    \nabla_z\Delta = e_y - \mathrm{softmax}_{j\ne y}(z)
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import kernels
from ..kernels import MARGIN, Statistics, check_margins
from ..kernels.linear.margin import linear_margin_rows
from ..kernels.linear.projection import outside_graphs
from .rows import LinearBatch, Rows, as_rows, linear_batch


def margin(logits: Tensor, target: Tensor, *, ignore_index: int = -100) -> Tensor:
    r"""Soft margin of the label over all other classes.

    Args:
        logits: (N, C), (C,) or (N, C, d1, ...). A class other than the label may be masked with -inf.
        target: class indices, the shape of the logits without the class dimension.
        ignore_index: targets with this value get margin 0 with zero gradient.

    Returns:
        :math:`\Delta` of the target's shape; float32 for half precision logits. Differentiable twice.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0]])
        >>> delta = margin(logits, torch.tensor([0]))
        >>> delta, torch.sigmoid(delta), logits.softmax(1)[:, 0]
        (tensor([1.3069]), tensor([0.7870]), tensor([0.7870]))
    """
    rows = _hard_rows(logits, target, ignore_index)
    found = kernels.rows(MARGIN, rows.logits, rows.target, rows.keep)
    check_margins(found.detach(), rows.logits, rows.target)
    return found.reshape(rows.shape)


def row_statistics(logits: Tensor, target: Tensor, *, ignore_index: int = -100) -> Statistics:
    r"""``margin``, ``logsumexp``, :math:`\sum z`, :math:`\sum p^2` and :math:`\sum p z` of every row.

    Each has the shape of ``target``, is differentiable, and is 0 with zero gradient where ignored.
    A class masked with -inf counts as absent.

    Example:
        >>> row_statistics(torch.zeros(1, 4), torch.tensor([2])).sum_p2
        tensor([0.2500])
    """
    rows = _hard_rows(logits, target, ignore_index)
    if rows.keep is None:
        statistics = kernels.row_statistics(rows.logits, rows.target)
    else:
        kept = torch.where(rows.keep.unsqueeze(1), rows.logits, 0.0)
        found = kernels.row_statistics(kept, rows.target)
        statistics = Statistics(*(torch.where(rows.keep, column, 0.0) for column in found))
    check_margins(statistics.margin, rows.logits, rows.target)
    return Statistics(*(column.reshape(rows.shape) for column in statistics))


def linear_margin(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    chunk: int | None = None,
) -> Tensor:
    r"""Margin :math:`\Delta` of ``hidden @ weight.T + bias``, without ever storing all N x V logits.

    Both passes compute the logits chunk by chunk, which takes less memory and one matrix product more. The
    logits of the last chunk are kept for the backward pass, unless checkpoints or ``saved_tensors_hooks``
    decide what is saved.

    Args:
        hidden: (N, H), (B, T, H) or any (..., H).
        weight: (V, H), one row per class.
        target: class indices, the shape of ``hidden`` without its last dimension.
        bias: (V,)
        ignore_index: targets with this value get margin 0 with zero gradient.
        chunk: rows of logits held at a time; by default about a quarter of them.

    Returns:
        :math:`\Delta` of the target's shape, float32 for half precision. Differentiable once.

    Example:
        >>> hidden, weight = torch.tensor([[2.0, 0.0, 0.0]]), torch.eye(3)
        >>> linear_margin(hidden, weight, torch.tensor([0]))
        tensor([1.3069])
    """
    if target.is_floating_point():
        raise TypeError(f"target must hold class indices (integers), got {target.dtype}")
    batch = linear_batch(hidden, weight, target, bias, chunk)
    if kernels.in_transform():
        return margin(*batch.stored(), ignore_index=ignore_index)
    return outside_graphs(_chunked)(batch, ignore_index)


def _chunked(batch: LinearBatch, ignore_index: int) -> Tensor:
    rows = batch.rows(ignore_index)
    return linear_margin_rows(batch.projection(), rows.target, rows.keep).reshape(batch.shape)


def _hard_rows(logits: Tensor, target: Tensor, ignore_index: int) -> Rows:
    if target.is_floating_point():
        raise TypeError(f"target must hold class indices (integers), got {target.dtype}")
    return as_rows(logits, target, ignore_index)
