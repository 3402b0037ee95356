r"""Row functions in pure torch: two passes over the logits, no N x C temporary beyond the gradient.

The first pass reads the logits and keeps two numbers per row, the largest other logit (``peak``)
and :math:`\sum_{j\ne y} e^{z_j - peak}` (``mass``); the second writes the gradient from per-row
coefficients. On a CPU both process blocks of rows that fit into the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from . import expressions
from .checks import check_margins
from .expressions import NEGATIVE_INFINITY, accumulation_dtype, expressed_gradient, wants_expressions
from .row_function import Partials, RowFunction, Statistics, Wanted
from .tracing import values_can_be_checked

BLOCK_ELEMENTS = 1 << 19


class Exponentials(NamedTuple):
    """Results of the first pass, as columns of shape (N, 1); sums that are not wanted are None."""

    peak: Tensor
    mass: Tensor
    classes: Tensor | None = None
    """How many classes are not masked, or the sum of their weights; computed together with ``sum_z``."""
    sum_z: Tensor | None = None
    squares: Tensor | None = None
    products: Tensor | None = None
    gap: Tensor | None = None
    """Sum of exp(z - peak) minus its square over the classes below the peak; computed with ``squares``."""
    kept: Tensor | None = None
    """exp(z - peak), -mass at the label: the gradient up to a factor per row, multiplied in place."""


class Coefficients(NamedTuple):
    r"""Gradient row ``d*(others + square*d + product*z) + shift`` with d = softmax over the other
    classes, ``label`` at the label, and ``top`` in place of ``others + square*d`` where d is largest.
    Columns of shape (N, 1); ``shift`` is (N, C) where the sum of z is weighted."""

    label: Tensor
    others: Tensor
    square: Tensor | None = None
    product: Tensor | None = None
    shift: Tensor | None = None
    top: Tensor | None = None


def rows(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None = None,
    mean: bool = False,
) -> Tensor:
    """The unreduced loss (N,), or its mean over all rows, which saves small batches a node of the graph.

    Rows where ``keep`` is False have value 0 and gradient 0, whatever their logits hold. Raises ValueError
    for margins that are not finite.
    """
    found: Tensor = _Rows.apply(logits, target, keep, weights, function, mean)  # type: ignore[no-untyped-call]
    return found


def row_statistics(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    return Statistics(*_Statistics.apply(logits, target))  # type: ignore[no-untyped-call]


def values_and_gradient(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None,
    share: Tensor,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Values (N,), their derivatives by the margin, and the gradient of their sum weighted by ``share``."""
    first, row, value, partials = _evaluate(function, logits, target, keep, weights, with_gradient=True)
    general = None if function.wanted is None else row
    gradient = _gradient(logits, target, keep, weights, first, general, partials, share)
    return value, partials.margin, gradient


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        logits: Tensor,
        target: Tensor,
        keep: Tensor | None,
        weights: Tensor | None,
        function: RowFunction,
        mean: bool,
    ) -> Tensor:
        first, row, value, partials = _evaluate(
            function, logits, target, keep, weights, ctx.needs_input_grad[0]
        )
        ctx.function, ctx.mean, ctx.kept = function, mean, first.kept
        if function.wanted is None:
            ctx.save_for_backward(logits, target, keep, weights, partials.margin, first.peak, first.mass)
        else:
            ctx.save_for_backward(logits, target, keep, weights, *first[:-1], *row, *partials)
        return value.mean() if mean else value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        logits, target, keep, weights, *saved = ctx.saved_tensors
        if ctx.mean:
            upstream = upstream / logits.shape[0]
        if wants_expressions(upstream):
            if ctx.mean:
                upstream = upstream.expand(logits.shape[0])
            value = lambda: expressions.rows(ctx.function, logits, target, keep, weights)  # noqa: E731
            return expressed_gradient(value, logits, upstream), None, None, None, None, None
        if ctx.function.wanted is None:
            first, row, partials = Exponentials(*saved[1:])._replace(kept=ctx.kept), None, Partials(saved[0])
            ctx.kept = None  # returned as the gradient; another backward pass computes it again
        else:
            first, row, partials = Exponentials(*saved[:7]), Statistics(*saved[7:12]), Partials(*saved[12:])
        gradient = _gradient(logits, target, keep, weights, first, row, partials, upstream)
        return gradient, None, None, None, None, None


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        column = target.unsqueeze(1)
        first = exponentials(logits, column, Wanted(True, True, True))
        row = statistics_from(logits.gather(1, column), first)
        ctx.save_for_backward(logits, target, *first[:-1], *row)
        return row

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        logits, target, *saved = ctx.saved_tensors
        if wants_expressions(*upstream):
            value = lambda: expressions.statistics(logits, target)  # noqa: E731
            return expressed_gradient(value, logits, upstream), None
        first, row = Exponentials(*saved[:7]), Statistics(*saved[7:])
        return _gradient(logits, target, None, None, first, row, Partials(*upstream), None), None


def _evaluate(
    function: RowFunction,
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None,
    with_gradient: bool,
) -> tuple[Exponentials, Statistics, Tensor, Partials]:
    """The first pass, and the function of its statistics."""
    column, wanted = target.unsqueeze(1), function.wanted
    keeps = with_gradient and wanted is None
    first = exponentials(logits, column, wanted or Wanted(), weights, keeps)
    label = logits.gather(1, column)
    alone = wanted is None
    row = Statistics(*[margin_from(label, first)] * 5) if alone else statistics_from(label, first)
    classes = torch.full_like(row.margin, logits.shape[1]) if first.classes is None else first.classes[:, 0]
    if keep is not None:
        row = _without_ignored(row, keep, logits.shape[1])
    check_margins(row.margin, logits, target)
    value, partials = function(row, classes, 1.0 if keep is None else keep)
    if keep is not None:
        value = torch.where(keep, value, 0.0)
        partials = Partials(*(None if p is None else torch.where(keep, p, 0.0) for p in partials))
    return first, row, value, partials


def _without_ignored(row: Statistics, keep: Tensor, classes: int) -> Statistics:
    """Statistics in which ignored rows are those of equal logits, so that no function fails for them."""
    plain = (-math.log(classes - 1), math.log(classes), 0.0, 1 / classes, 0.0)
    if row.sum_z is row.margin:
        return Statistics(*[torch.where(keep, row.margin, plain[0])] * 5)
    return Statistics(*(torch.where(keep, c, p) for c, p in zip(row, plain, strict=True)))


def _gradient(
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    weights: Tensor | None,
    first: Exponentials,
    row: Statistics | None,
    partials: Partials,
    upstream: Tensor | None,
) -> Tensor:
    """The second pass; ``upstream`` (N,) is multiplied last, so that terms that cancel do so exactly.

    ``row`` is None for functions of the margin alone.
    """
    column = target.unsqueeze(1)
    if row is None:
        emphasis = torch.zeros_like(first.mass[:, 0]) if partials.margin is None else -partials.margin
        step = emphasis if upstream is None else emphasis * upstream
        gradient = _along_margin(logits, column, first, step.unsqueeze(1))
    else:
        wide = Statistics(*(c.unsqueeze(1) for c in row))
        steps = Partials(*(None if p is None else p.unsqueeze(1) for p in partials))
        chosen = coefficients_of(wide, steps, first, logits.gather(1, column), weights, column)
        if upstream is not None:
            scale = upstream.unsqueeze(1) if upstream.dim() else upstream
            chosen = Coefficients(*(None if c is None else c * scale for c in chosen))  # type: ignore[arg-type]
        gradient = _general(logits, column, first, chosen, weights)
    return gradient if keep is None else gradient.masked_fill_(~keep.unsqueeze(1), 0.0)


# First pass ---------------------------------------------------------------------------------------


def row_blocks(logits: Tensor, elements: int = BLOCK_ELEMENTS) -> Iterator[slice]:
    """Slices of rows with about ``elements`` logits each; one slice on devices other than CPUs."""
    rows, classes = logits.shape
    whole = logits.device.type != "cpu" or logits.numel() <= elements
    step = max(1, rows if whole else elements // classes)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def exponentials(
    logits: Tensor,
    column: Tensor,
    wanted: Wanted = Wanted(),
    weights: Tensor | None = None,
    keep: bool = False,
) -> Exponentials:
    """First pass. ``column`` is the target of shape (N, 1); with ``keep`` the result contains ``kept``."""
    keep = keep and logits.dtype == accumulation_dtype(logits.dtype)
    blocks = list(row_blocks(logits))
    if len(blocks) <= 1:
        return _exponentials_of_block(logits, column, wanted, weights, keep)
    kept = torch.empty_like(logits, memory_format=torch.contiguous_format) if keep else None
    parts = []
    for part in blocks:
        space = None if kept is None else kept[part]
        found = _exponentials_of_block(logits[part], column[part], wanted, weights, keep, space)
        parts.append(found._replace(kept=None))
    columns = [None if c[0] is None else torch.cat(c) for c in zip(*parts, strict=True)]
    return Exponentials(*columns)._replace(kept=kept)  # type: ignore[arg-type]


def _exponentials_of_block(
    logits: Tensor,
    column: Tensor,
    wanted: Wanted,
    weights: Tensor | None,
    keep: bool,
    space: Tensor | None = None,
) -> Exponentials:
    if space is None:
        wide = logits.to(accumulation_dtype(logits.dtype)).scatter(1, column, NEGATIVE_INFINITY)
    else:
        wide = space.copy_(logits).scatter_(1, column, NEGATIVE_INFINITY)
    peak = wide.amax(1, keepdim=True)
    raised = wide.sub_(peak).exp_()
    mass = raised.sum(1, keepdim=True)
    classes = sum_z = squares = products = gap = None
    if wanted.sum_z:
        sum_z, classes = _sum_of_present(logits, mass.dtype, weights)
    if wanted.squares:
        squares = torch.linalg.vecdot(raised, raised).unsqueeze(1)
        below = raised.scatter(1, raised.argmax(1, keepdim=True), 0.0)
        gap = (below.sum(1) - torch.linalg.vecdot(below, below)).unsqueeze(1)
    if wanted.products:
        products = torch.linalg.vecdot(raised, _without_masked(logits, mass.dtype)).unsqueeze(1)
    kept = raised.scatter_(1, column, -mass) if keep else None
    return Exponentials(peak, mass, classes, sum_z, squares, products, gap, kept)


def _without_masked(logits: Tensor, dtype: torch.dtype) -> Tensor:
    """The logits with 0 for -inf."""
    return logits.to(dtype).nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=0.0)


def _sum_of_present(logits: Tensor, dtype: torch.dtype, weights: Tensor | None) -> tuple[Tensor, Tensor]:
    """Row sums over the classes that are not masked, and the number of those classes, both weighted."""
    by = None if weights is None else weights.to(dtype)

    def total(entries: Tensor) -> Tensor:
        found = entries.sum(1, dtype=dtype) if by is None else entries.to(dtype) @ by
        return found.unsqueeze(1)

    if values_can_be_checked(logits) and (found := total(logits)).isfinite().all():
        return found, torch.full_like(found, _all_classes(logits, by))
    return total(_without_masked(logits, dtype)), total(logits != NEGATIVE_INFINITY)


def _all_classes(logits: Tensor, weights: Tensor | None) -> float:
    return logits.shape[1] if weights is None else weights.sum().item()


def margin_from(label: Tensor, first: Exponentials) -> Tensor:
    """The margins (N,) of rows whose label has this logit, a column."""
    margin: Tensor = label.to(first.mass.dtype) - first.peak - first.mass.log()
    return margin.squeeze(1)


def statistics_from(label: Tensor, first: Exponentials) -> Statistics:
    """The statistics (N,) of rows whose label has this logit, a column."""
    label, margin = label.to(first.mass.dtype), margin_from(label, first).unsqueeze(1)
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    nothing = torch.zeros_like(margin)
    columns = (
        margin,
        label - logsigmoid(margin),
        nothing if first.sum_z is None else first.sum_z,
        nothing if first.squares is None else p**2 + (rest / first.mass) ** 2 * first.squares,
        nothing if first.products is None else p * label + rest * first.products / first.mass,
    )
    return Statistics(*(column.squeeze(1) for column in columns))


# Second pass --------------------------------------------------------------------------------------


def _along_margin(logits: Tensor, column: Tensor, first: Exponentials, step: Tensor) -> Tensor:
    """``step`` (N, 1) times (softmax over the other classes - one-hot).

    Overwrites and returns ``first.kept`` if there is one.
    """
    share = step / first.mass
    if first.kept is not None:
        return first.kept.mul_(share)
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    for part in row_blocks(logits):
        space = out[part] if out.dtype == share.dtype else None
        raised = torch.sub(logits[part].to(share.dtype), first.peak[part], out=space).exp_()
        block = raised.scatter_(1, column[part], -first.mass[part]).mul_(share[part])
        if space is None:
            out[part] = block
    return out


def coefficients_of(
    row: Statistics,
    step: Partials,
    first: Exponentials,
    label: Tensor,
    weights: Tensor | None,
    column: Tensor,
) -> Coefficients:
    """The chain rule of the five statistics, per row, without differences of nearly equal numbers."""
    p, rest = torch.sigmoid(row.margin), torch.sigmoid(-row.margin)
    at_label = torch.zeros_like(p) if step.margin is None else step.margin
    others, product = -at_label, None
    if step.logsumexp is not None:
        at_label, others = at_label + p * step.logsumexp, others + rest * step.logsumexp
    if step.sum_z is not None:
        own = 1.0 if weights is None else weights.to(p.dtype)[column]
        at_label = at_label + own * step.sum_z
    if step.sum_pz is not None:
        product = step.sum_pz * rest
        at_label = at_label + step.sum_pz * p * (1 + label.to(p.dtype) - row.sum_pz)
        others = others + product * (1 - row.sum_pz)
    if step.sum_p2 is None or first.squares is None or first.gap is None:
        return Coefficients(at_label, others, None, product, step.sum_z)
    squares, slope = first.squares / first.mass**2, 2 * step.sum_p2 * rest
    square, lead = slope * rest, slope * p
    at_label, others = (at_label + lead) - lead * rest * (1 + squares), others - lead
    top = others + square * (p * (1 + squares) + first.gap / first.mass**2)
    return Coefficients(at_label, others + square * (p - rest * squares), square, product, step.sum_z, top)


def _general(
    logits: Tensor, column: Tensor, first: Exponentials, coefficients: Coefficients, weights: Tensor | None
) -> Tensor:
    """The gradient with respect to the logits, of their dtype."""
    dtype = first.mass.dtype
    masked = coefficients.shift is not None and _may_be_masked(logits, first, weights)
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    for part in row_blocks(logits):
        space = out[part] if out.dtype == dtype else None
        raised = torch.sub(logits[part].to(dtype), first.peak[part], out=space).exp_()
        chosen = Coefficients(*(None if c is None else c[part] for c in coefficients))  # type: ignore[arg-type]
        block = _general_block(logits[part], column[part], raised, first.mass[part], chosen, weights)
        if masked:
            block.masked_fill_(logits[part] == NEGATIVE_INFINITY, 0.0)
        if space is None:
            out[part] = block
    return out


def _may_be_masked(logits: Tensor, first: Exponentials, weights: Tensor | None) -> bool:
    """False where it is known that no class with a weight is masked."""
    if first.classes is None or not values_can_be_checked(logits):
        return True
    everything = _all_classes(logits, None if weights is None else weights.to(first.classes.dtype))
    return bool((first.classes != everything).any())


def _general_block(
    logits: Tensor,
    column: Tensor,
    raised: Tensor,
    mass: Tensor,
    coefficients: Coefficients,
    weights: Tensor | None,
) -> Tensor:
    """Overwrites ``raised`` = exp(z - peak), whose entry at the label is arbitrary."""
    label, others, square, product, shift, top = coefficients
    if square is None and product is None:
        block = raised.mul_(others / mass)
    else:
        direction = raised.div_(mass).scatter_(1, column, 0.0)
        slope = others if square is None else torch.addcmul(others, direction, square)
        if top is not None:
            slope.scatter_(1, direction.argmax(1, keepdim=True), top)
        if product is not None:
            slope = torch.addcmul(slope, product, _without_masked(logits, mass.dtype))
        block = direction.mul_(slope)
    if shift is not None:
        block.add_(shift) if weights is None else block.addcmul_(shift, weights.to(shift.dtype))
    return block.scatter_(1, column, label)
