"""Row-wise expressions of many N x C temporaries, run block by block so that only one is ever large."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from .expressed import expressed_gradient, wants_expressions
from .reference import row_blocks
from .tracing import is_plain_eager

RowFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""(n, C) logits and (n,) targets to (n,) values; each row by itself, differentiable."""
RowGradient: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""The same in one go: (n,) values and the (n, C) gradient of their sum."""


def blockwise_rows(function: RowFunction, gradient: RowGradient, logits: Tensor, target: Tensor) -> Tensor:
    """``function(logits, target)``, its gradient formed in the forward pass."""
    if not is_plain_eager():
        return function(logits, target)
    rows: Tensor = _Blockwise.apply(logits, target, function, gradient)  # type: ignore[no-untyped-call]
    return rows


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, logits: Tensor, target: Tensor, function: RowFunction, gradient: RowGradient
    ) -> Tensor:
        ctx.function = function
        if not ctx.needs_input_grad[0]:
            return function(logits, target)
        formed = torch.empty_like(logits, memory_format=torch.contiguous_format)
        values = []
        for rows in row_blocks(logits):
            value, formed[rows] = gradient(logits[rows], target[rows])
            values.append(value)
        ctx.save_for_backward(logits, target, formed)
        return torch.cat(values) if values else function(logits, target)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        logits, target, formed = ctx.saved_tensors
        if wants_expressions(upstream):
            grad = expressed_gradient(lambda: ctx.function(logits, target), logits, upstream)
            return grad, None, None, None
        return (formed * upstream.unsqueeze(1)).to(logits.dtype), None, None, None
