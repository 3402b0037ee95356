"""Many tensors in another precision: one kernel for all of them, and one for all their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def joint_cast(tensors: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Each ``tensor.to(dtype)``, with the same bits, there and in the gradient.

    Args:
        tensors: all of one precision, on one device.
        dtype: that of the copies; they keep shape and layout.

    Example:
        >>> weight = torch.tensor([1.001], requires_grad=True)
        >>> (low,) = joint_cast([weight], torch.bfloat16)
        >>> (3.007 * low).sum().backward()
        >>> low.detach(), weight.grad
        (tensor([1.], dtype=torch.bfloat16), tensor([3.]))
    """
    found: tuple[Tensor, ...] = _JointCast.apply(dtype, *tensors) if tensors else ()  # type: ignore[no-untyped-call]
    return found


class _JointCast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        ctx.set_materialize_grads(False)  # what is not used has no gradient, rather than zeros
        ctx.dtype = tensors[0].dtype
        return tuple(_copied(tensors, dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        given = iter(_copied([gradient for gradient in upstream if gradient is not None], ctx.dtype))
        return None, *(None if gradient is None else next(given) for gradient in upstream)


def _copied(tensors: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    copies = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    if copies:
        torch._foreach_copy_(copies, list(tensors))
    return copies
