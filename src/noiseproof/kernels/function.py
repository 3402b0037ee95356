"""Autograd functions over the two passes: one for losses of the margin, one for all statistics."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor

from . import differentiable, reference
from .reference import Coefficients, Exponentials, Statistics, Wanted
from .tracing import is_plain_eager

Evaluate: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Margins of shape (N,) to their values and emphases."""


def margin_rows(
    logits: Tensor, target: Tensor, evaluate: Evaluate, keep: Tensor | None = None
) -> Tensor:
    """Per-row value of a function of the margin whose gradient is its emphasis.

    (N, C), (N,) -> (N,). Rows where ``keep`` is False count as margin 0 when evaluated and give
    value 0 and gradient 0, whatever their logits hold.
    """
    if is_plain_eager():
        rows: Tensor = _MarginRows.apply(logits, target, evaluate, keep)  # type: ignore[no-untyped-call]
        return rows
    if keep is not None:
        logits = torch.where(keep.unsqueeze(-1), logits, 0.0)
    margin = differentiable.margin(logits, target)
    margin = margin if keep is None else torch.where(keep, margin, 0.0)
    rows = differentiable.attach(margin, *evaluate(margin))
    return rows if keep is None else torch.where(keep, rows, 0.0)


def statistics_rows(
    logits: Tensor, target: Tensor, wanted: Wanted = Wanted(True, True, True)
) -> Statistics:
    """All row statistics, differentiable; those not wanted are zeros. (N, C), (N,) -> 5 x (N,)"""
    if is_plain_eager():
        return Statistics(*_StatisticsRows.apply(logits, target, wanted))  # type: ignore[no-untyped-call]
    return Statistics(*differentiable.statistics(logits, target))


class _MarginRows(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, logits: Tensor, target: Tensor, evaluate: Evaluate, keep: Tensor | None
    ) -> Tensor:
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column)
        margin = reference.margin_from(logits, column, first).squeeze(1)
        if keep is None:
            value, emphasis = evaluate(margin)
        else:
            value, emphasis = evaluate(torch.where(keep, margin, 0.0))
            value, emphasis = torch.where(keep, value, 0.0), torch.where(keep, emphasis, 0.0)
        ctx.save_for_backward(logits, target, keep, emphasis, first.peak, first.mass, first.kept)
        ctx.evaluate = evaluate
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        logits, target, keep, emphasis, peak, mass, kept = ctx.saved_tensors
        if torch.is_grad_enabled():
            grad = _differentiable_gradient(logits, target, keep, ctx.evaluate, upstream)
            return grad, None, None, None
        step = (upstream * emphasis).unsqueeze(1)
        first = Exponentials(peak, mass, None, None, None, kept)
        coefficients = Coefficients(label=-step, others=step)
        grad = reference.gradient(logits, target.unsqueeze(1), first, coefficients)
        if keep is not None:
            grad.masked_fill_(~keep.unsqueeze(1), 0.0)
        return grad, None, None, None


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


class _StatisticsRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, wanted: Wanted) -> tuple[Tensor, ...]:  # type: ignore[override]
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column, wanted)
        columns = _statistics_from(logits, column, first)
        ctx.save_for_backward(logits, target, *first, *columns)
        return tuple(c.squeeze(1) for c in columns)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        first, row = Exponentials(*saved[:6]), Statistics(*saved[6:])
        if torch.is_grad_enabled():
            outputs = differentiable.statistics(logits, target)
            (grad,) = torch.autograd.grad(outputs, logits, upstream, create_graph=True)
            return grad, None, None
        column = target.unsqueeze(1)
        label = logits.gather(1, column).to(first.mass.dtype)
        step = Statistics(*(u.unsqueeze(1) for u in upstream))
        coefficients = _coefficients(row, step, first, label)
        return reference.gradient(logits, column, first, coefficients), None, None


def _statistics_from(logits: Tensor, column: Tensor, first: Exponentials) -> Statistics:
    margin = reference.margin_from(logits, column, first)
    label = logits.gather(1, column).to(margin.dtype)
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    zero = torch.zeros_like(margin)
    sum_p2 = zero if first.squares is None else p**2 + rest**2 * first.squares / first.mass**2
    sum_pz = zero if first.products is None else p * label + rest * first.products / first.mass
    logsumexp = label - torch.nn.functional.logsigmoid(margin)
    return Statistics(
        margin, logsumexp, zero if first.sum_z is None else first.sum_z, sum_p2, sum_pz
    )


def _coefficients(row: Statistics, step: Statistics, first: Exponentials, label: Tensor) -> Coefficients:
    """The chain rule of the five statistics, collected per row without differences of near-equals."""
    p, rest = torch.sigmoid(row.margin), torch.sigmoid(-row.margin)
    at_label = step.margin + p * step.logsumexp + step.sum_z
    others = rest * step.logsumexp - step.margin
    square = product = None
    if first.squares is not None:
        square = 2 * step.sum_p2 * rest**2
        at_label = at_label + 2 * step.sum_p2 * p * rest * (p - rest * first.squares / first.mass**2)
        others = others - 2 * step.sum_p2 * rest * row.sum_p2
    if first.products is not None:
        product = step.sum_pz * rest
        at_label = at_label + step.sum_pz * p * (1 + label - row.sum_pz)
        others = others + step.sum_pz * rest * (1 - row.sum_pz)
    shift = None if first.sum_z is None else step.sum_z
    return Coefficients(at_label, others, square, product, shift)
