"""The margin of a linear layer whose logits are never stored."""

from __future__ import annotations

from torch import Tensor

from ..kernels.linear.total import outside_graphs
from ..kernels.tracing import in_transform
from .linear_batch import LinearBatch, linear_batch
from .linear_rows import margins_of
from .margin import margin


def linear_margin(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    chunk: int | None = None,
) -> Tensor:
    r"""Margin :math:`\Delta` of ``hidden @ weight.T + bias``, the N x V logits never stored at once.

    Both passes make the logits chunk by chunk: a fourth matrix product buys the memory. Those of the last
    chunk stay until the backward pass, unless checkpoints or ``saved_tensors_hooks`` say what does.

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
        >>> import torch
        >>> hidden, weight = torch.tensor([[2.0, 0.0, 0.0]]), torch.eye(3)
        >>> linear_margin(hidden, weight, torch.tensor([0]))
        tensor([1.3069])
    """
    if target.is_floating_point():
        raise TypeError(f"target must hold class indices (integers), got {target.dtype}")
    batch = linear_batch(hidden, weight, target, bias, chunk)
    if in_transform():
        return margin(*batch.stored(), ignore_index=ignore_index)
    return outside_graphs(_chunked)(batch, ignore_index)


def _chunked(batch: LinearBatch, ignore_index: int) -> Tensor:
    rows = batch.rows(ignore_index)
    return margins_of(batch.projection(), rows).reshape(batch.shape)
