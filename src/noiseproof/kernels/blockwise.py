"""Row-wise expressions of many N x C temporaries, run block by block so that only one is ever large."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .reference import row_blocks
from .tracing import is_plain_eager

RowFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""(n, C) logits and (n,) targets to (n,) values; each row by itself."""


def blockwise_rows(function: RowFunction, logits: Tensor, target: Tensor) -> Tensor:
    """``function(logits, target)``, its gradient formed in the forward pass."""
    if not is_plain_eager():
        return function(logits, target)
    rows: Tensor = _Blockwise.apply(logits, target, function)  # type: ignore[no-untyped-call]
    return rows


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, function: RowFunction) -> Tensor:  # type: ignore[override]
        ctx.function = function
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None
        values = []
        for rows in row_blocks(logits, 1 << 17):
            with torch.enable_grad():
                block = logits[rows].detach().requires_grad_(gradient is not None)
                value = function(block, target[rows])
                if gradient is not None:
                    (gradient[rows],) = torch.autograd.grad(value.sum(), block)
            values.append(value.detach())
        ctx.save_for_backward(logits, target, gradient)
        return torch.cat(values) if values else function(logits, target).detach()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        logits, target, gradient = ctx.saved_tensors
        if torch.is_grad_enabled():
            value = ctx.function(logits, target)
            (gradient,) = torch.autograd.grad(value, logits, upstream, create_graph=True)
            return gradient, None, None
        return (gradient * upstream.unsqueeze(1)).to(logits.dtype), None, None
