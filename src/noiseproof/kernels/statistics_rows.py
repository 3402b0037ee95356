"""All row statistics, and losses that are functions of them."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from . import differentiable, reference
from .reference import Coefficients, Exponentials, Statistics, Wanted
from .tracing import is_plain_eager


class Partials(NamedTuple):
    """Derivatives of a loss with respect to the row statistics, columns (N, 1); None for zero."""

    margin: Tensor | None = None
    logsumexp: Tensor | None = None
    sum_z: Tensor | None = None
    sum_p2: Tensor | None = None
    sum_pz: Tensor | None = None


EvaluateStatistics: TypeAlias = Callable[[Statistics, Tensor], tuple[Tensor, Partials]]
"""Statistics and numbers of present classes, columns (N, 1), to values and partial derivatives."""


def statistics_rows(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    if is_plain_eager():
        return Statistics(*_StatisticsRows.apply(logits, target))  # type: ignore[no-untyped-call]
    return Statistics(*differentiable.statistics(logits, target))


def statistics_loss_rows(
    logits: Tensor, target: Tensor, evaluate: EvaluateStatistics, wanted: Wanted
) -> Tensor:
    """Per-row value of a function of the statistics, from its value and partial derivatives.

    (N, C), (N,) -> (N,). Statistics that are not wanted are zeros.
    """
    if is_plain_eager():
        rows: Tensor = _StatisticsLoss.apply(logits, target, evaluate, wanted)  # type: ignore[no-untyped-call]
        return rows
    return _differentiable_value(logits, target, evaluate)


class _StatisticsRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column, Wanted(True, True, True))
        row = _statistics_from(logits, column, first)
        ctx.save_for_backward(logits, target, *first, *row)
        return tuple(c.squeeze(1) for c in row)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        if torch.is_grad_enabled():
            outputs = differentiable.statistics(logits, target)
            (grad,) = torch.autograd.grad(outputs, logits, upstream, create_graph=True)
            return grad, None
        step = Partials(*(u.unsqueeze(1) for u in upstream))
        return _statistics_gradient(logits, target, saved, step), None


class _StatisticsLoss(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, logits: Tensor, target: Tensor, evaluate: EvaluateStatistics, wanted: Wanted
    ) -> Tensor:
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column, wanted)
        row = _statistics_from(logits, column, first)
        value, partial = evaluate(row, reference.class_counts(logits, first))
        ctx.evaluate = evaluate
        ctx.save_for_backward(logits, target, *first, *row, *partial)
        return value.squeeze(1)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        if torch.is_grad_enabled():
            value = _differentiable_value(logits, target, ctx.evaluate)
            (grad,) = torch.autograd.grad(value, logits, upstream, create_graph=True)
            return grad, None, None, None
        column = upstream.unsqueeze(1)
        step = Partials(*(None if p is None else p * column for p in saved[12:]))
        return _statistics_gradient(logits, target, saved, step), None, None, None


def _differentiable_value(logits: Tensor, target: Tensor, evaluate: EvaluateStatistics) -> Tensor:
    row = Statistics(*(c.unsqueeze(-1) for c in differentiable.statistics(logits, target)))
    return evaluate(row, differentiable.present_classes(logits))[0].squeeze(-1)


def _statistics_gradient(logits: Tensor, target: Tensor, saved: list[Any], step: Partials) -> Tensor:
    first, row = Exponentials(*saved[:7]), Statistics(*saved[7:12])
    column = target.unsqueeze(1)
    label = logits.gather(1, column).to(first.mass.dtype)
    return reference.gradient(logits, column, first, _coefficients(row, step, first, label))


def _statistics_from(logits: Tensor, column: Tensor, first: Exponentials) -> Statistics:
    label = logits.gather(1, column).to(first.mass.dtype)
    margin = label - first.peak - first.mass.log()
    logsumexp = label - torch.nn.functional.logsigmoid(margin)
    sum_z = first.sum_z if first.sum_z is not None else torch.zeros_like(margin)
    sum_p2 = sum_pz = torch.zeros_like(margin)
    if first.squares is not None:
        sum_p2 = torch.sigmoid(margin) ** 2 + (torch.sigmoid(-margin) / first.mass) ** 2 * first.squares
    if first.products is not None:
        sum_pz = torch.sigmoid(margin) * label + torch.sigmoid(-margin) * first.products / first.mass
    return Statistics(margin, logsumexp, sum_z, sum_p2, sum_pz)


def _coefficients(row: Statistics, step: Partials, first: Exponentials, label: Tensor) -> Coefficients:
    """The chain rule of the five statistics, collected per row without differences of near-equals."""
    p, rest = torch.sigmoid(row.margin), torch.sigmoid(-row.margin)
    at_label = torch.zeros_like(p) if step.margin is None else step.margin
    others = -at_label
    square = product = None
    if step.logsumexp is not None:
        at_label, others = at_label + p * step.logsumexp, others + rest * step.logsumexp
    if step.sum_z is not None:
        at_label = at_label + step.sum_z
    if step.sum_p2 is not None and first.squares is not None:
        slope = 2 * step.sum_p2 * rest
        square = slope * rest
        at_label = at_label + slope * p * (p - rest * first.squares / first.mass**2)
        others = others - slope * row.sum_p2
    if step.sum_pz is not None:
        product = step.sum_pz * rest
        at_label = at_label + step.sum_pz * p * (1 + label - row.sum_pz)
        others = others + product * (1 - row.sum_pz)
    return Coefficients(at_label, others, square, product, step.sum_z)
