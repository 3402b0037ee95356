"""All row statistics, and losses that are functions of them."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import differentiable, operators, reference
from .expressed import expressed_gradient, wants_expressions
from .fused import Call, fused_loss, fused_statistics, record
from .path import uses_kernels
from .reference import Coefficients, Exponentials, Statistics, Wanted
from .row_function import EvaluateStatistics, Partials, RowFunction
from .tracing import is_plain_eager


def statistics_rows(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    if not is_plain_eager():
        return Statistics(*differentiable.statistics(logits, target))
    if uses_kernels(logits):
        return fused_statistics(logits, target)
    return Statistics(*_StatisticsRows.apply(logits, target))  # type: ignore[no-untyped-call]


def statistics_loss_rows(
    logits: Tensor, target: Tensor, evaluate: EvaluateStatistics, wanted: Wanted, keep: Tensor | None = None
) -> Tensor:
    """Per-row value of a function of the statistics, from its value and partial derivatives.

    (N, C), (N,) -> (N,). Statistics that are not wanted are zeros. Rows where ``keep`` is False give value
    0 and gradient 0, whatever their logits hold.
    """
    if is_plain_eager() and uses_kernels(logits):
        return _kernel_rows(logits, target, evaluate, wanted, keep)
    if torch.compiler.is_compiling() and uses_kernels(logits):
        return operators.statistics_loss(logits, target, RowFunction(evaluate, wanted), keep)
    if keep is not None:
        logits = torch.where(keep.unsqueeze(1), logits, 0.0)
    if is_plain_eager():
        rows: Tensor = _StatisticsLoss.apply(logits, target, evaluate, wanted)  # type: ignore[no-untyped-call]
    else:
        rows = _differentiable_value(logits, target, evaluate)
    return rows if keep is None else torch.where(keep, rows, 0.0)


def _kernel_rows(
    logits: Tensor, target: Tensor, evaluate: EvaluateStatistics, wanted: Wanted, keep: Tensor | None
) -> Tensor:
    def again(other: Tensor) -> Tensor:
        return statistics_loss_rows(other, target, evaluate, wanted, keep)

    function = RowFunction(evaluate, wanted)
    counted = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    return fused_loss(logits, Call(target, function, again, record(function), counted))


class _StatisticsRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        column = target.unsqueeze(1)
        first = reference.exponentials(logits, column, Wanted(True, True, True))
        row = statistics_from(_label_of(logits, column, first), first)
        ctx.save_for_backward(logits, target, *first, *row)
        return tuple(c.squeeze(1) for c in row)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        if wants_expressions(*upstream):
            grad = expressed_gradient(lambda: differentiable.statistics(logits, target), logits, upstream)
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
        row = statistics_from(_label_of(logits, column, first), first)
        value, partials = evaluate(row, reference.class_counts(logits, first))
        ctx.evaluate = evaluate
        ctx.save_for_backward(logits, target, *first, *row, *partials)
        return value.squeeze(1)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        if wants_expressions(upstream):
            value = partial(_differentiable_value, logits, target, ctx.evaluate)
            return expressed_gradient(value, logits, upstream), None, None, None
        scale = upstream.unsqueeze(1)
        return _statistics_gradient(logits, target, saved, Partials(*saved[13:]), scale), None, None, None


def _differentiable_value(logits: Tensor, target: Tensor, evaluate: EvaluateStatistics) -> Tensor:
    row = Statistics(*(c.unsqueeze(-1) for c in differentiable.statistics(logits, target)))
    return evaluate(row, differentiable.present_classes(logits))[0].squeeze(-1)


def _statistics_gradient(
    logits: Tensor, target: Tensor, saved: list[Any], step: Partials, scale: Tensor | None = None
) -> Tensor:
    first, row = Exponentials(*saved[:8]), Statistics(*saved[8:13])
    column = target.unsqueeze(1)
    chosen = coefficients_of(row, step, first, _label_of(logits, column, first))
    if scale is not None:  # last, so that what cancels does so exactly
        chosen = Coefficients(*(None if c is None else c * scale for c in chosen))  # type: ignore[arg-type]
    return reference.gradient(logits, column, first, chosen)


def _label_of(logits: Tensor, column: Tensor, first: Exponentials) -> Tensor:
    return logits.gather(1, column).to(first.mass.dtype)


def statistics_from(label: Tensor, first: Exponentials) -> Statistics:
    """Of rows whose label has this logit; all columns."""
    margin = label - first.peak - first.mass.log()
    logsumexp = label - torch.nn.functional.logsigmoid(margin)
    sum_z = first.sum_z if first.sum_z is not None else torch.zeros_like(margin)
    sum_p2 = sum_pz = torch.zeros_like(margin)
    if first.squares is not None:
        sum_p2 = torch.sigmoid(margin) ** 2 + (torch.sigmoid(-margin) / first.mass) ** 2 * first.squares
    if first.products is not None:
        sum_pz = torch.sigmoid(margin) * label + torch.sigmoid(-margin) * first.products / first.mass
    return Statistics(margin, logsumexp, sum_z, sum_p2, sum_pz)


def coefficients_of(row: Statistics, step: Partials, first: Exponentials, label: Tensor) -> Coefficients:
    """The chain rule of the five statistics, collected per row without differences of near-equals."""
    p, rest = torch.sigmoid(row.margin), torch.sigmoid(-row.margin)
    at_label = torch.zeros_like(p) if step.margin is None else step.margin
    others, product = -at_label, None
    if step.logsumexp is not None:
        at_label, others = at_label + p * step.logsumexp, others + rest * step.logsumexp
    if step.sum_z is not None:
        at_label = at_label + step.sum_z
    if step.sum_pz is not None:
        product = step.sum_pz * rest
        at_label = at_label + step.sum_pz * p * (1 + label - row.sum_pz)
        others = others + product * (1 - row.sum_pz)
    if step.sum_p2 is None or first.squares is None:
        return Coefficients(at_label, others, None, product, step.sum_z)
    squares, slope = first.squares / first.mass**2, 2 * step.sum_p2 * rest
    square, lead = slope * rest, slope * p
    at_label, others = (at_label + lead) - lead * rest * (1 + squares), others - lead
    top = None if first.gap is None else others + square * (p * (1 + squares) + first.gap / first.mass**2)
    return Coefficients(at_label, others + square * (p - rest * squares), square, product, step.sum_z, top)
