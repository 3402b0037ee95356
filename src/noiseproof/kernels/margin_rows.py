"""Losses of the margin alone: one autograd function over the two passes serves them all."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from . import differentiable, operators, reference
from .expressed import wants_expressions
from .fused import Call, fused_loss, record
from .path import uses_kernels
from .reference import Exponentials
from .row_function import of_margin
from .tracing import is_plain_eager

Evaluate: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Margins of shape (N,) to their values and emphases."""


def margin_rows(
    logits: Tensor,
    target: Tensor,
    evaluate: Evaluate,
    keep: Tensor | None = None,
    mean: bool = False,
) -> Tensor:
    """Per-row value of a function of the margin whose gradient is its emphasis.

    (N, C), (N,) -> (N,). Rows where ``keep`` is False count as margin 0 when evaluated and give
    value 0 and gradient 0, whatever their logits hold. ``mean`` gives the mean over all rows, which
    saves small batches a node of the graph.
    """
    if not is_plain_eager():
        return _plain_rows(logits, target, evaluate, keep, mean)
    if uses_kernels(logits):
        return _kernel_rows(logits, target, evaluate, keep, mean)
    rows: Tensor = _MarginRows.apply(logits, target, evaluate, keep, mean)  # type: ignore[no-untyped-call]
    return rows


def _plain_rows(
    logits: Tensor, target: Tensor, evaluate: Evaluate, keep: Tensor | None, mean: bool
) -> Tensor:
    """Expressions torch can trace, transform and differentiate."""
    if torch.compiler.is_compiling() and uses_kernels(logits):
        margin = operators.row_statistics(logits, target, keep, None)[0]
    else:
        if keep is not None:
            logits = torch.where(keep.unsqueeze(-1), logits, 0.0)
        margin = differentiable.margin(logits, target)
        margin = margin if keep is None else torch.where(keep, margin, 0.0)
    rows = differentiable.attach(margin, *evaluate(margin))
    rows = rows if keep is None else torch.where(keep, rows, 0.0)
    return rows.mean() if mean else rows


def _kernel_rows(
    logits: Tensor, target: Tensor, evaluate: Evaluate, keep: Tensor | None, mean: bool
) -> Tensor:
    def again(other: Tensor) -> Tensor:
        return _plain_rows(other, target, evaluate, keep, False)

    function = of_margin(evaluate)
    keep = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    rows = fused_loss(logits, Call(target, function, again, record(function), keep))
    return rows.mean() if mean else rows


class _MarginRows(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, logits: Tensor, target: Tensor, evaluate: Evaluate, keep: Tensor | None, mean: bool
    ) -> Tensor:
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column, keep=ctx.needs_input_grad[0])
        margin = reference.margin_from(logits, column, first).squeeze(1)
        if keep is None:
            value, emphasis = evaluate(margin)
        else:
            value, emphasis = evaluate(torch.where(keep, margin, 0.0))
            value, emphasis = torch.where(keep, value, 0.0), torch.where(keep, emphasis, 0.0)
        ctx.save_for_backward(logits, target, keep, emphasis, first.peak, first.mass)
        ctx.evaluate, ctx.mean, ctx.kept = evaluate, mean, first.kept
        return value.mean() if mean else value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        logits, target, keep, emphasis, peak, mass = ctx.saved_tensors
        if ctx.mean:
            upstream = upstream / logits.shape[0]
        if wants_expressions(upstream):
            grad = _differentiable_gradient(logits, target, keep, ctx.evaluate, upstream)
            return grad, None, None, None, None
        step = (upstream * emphasis).unsqueeze(1)
        first = Exponentials(peak, mass, None, None, None, None, ctx.kept)
        ctx.kept = None  # it leaves as the gradient; another backward forms it anew
        grad = reference.descend(logits, target.unsqueeze(1), first, step)
        if keep is not None:
            grad.masked_fill_(~keep.unsqueeze(1), 0.0)
        return grad, None, None, None, None


def _differentiable_gradient(
    logits: Tensor, target: Tensor, keep: Tensor | None, evaluate: Evaluate, upstream: Tensor
) -> Tensor:
    """The gradient as an expression that can itself be differentiated."""
    if keep is not None:
        logits = torch.where(keep.unsqueeze(-1), logits, 0.0)
        upstream = torch.where(keep, upstream, 0.0)
    _, emphasis = evaluate(differentiable.margin(logits, target))
    step = (upstream * emphasis).unsqueeze(-1)
    return (step * differentiable.descent_direction(logits, target)).to(logits.dtype)
