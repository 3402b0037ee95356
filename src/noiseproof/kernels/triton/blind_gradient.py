# mypy: ignore-errors
"""Triton: the gradient of a function of the margin and of the blind loss, written in one pass."""

import triton
import triton.language as tl

from .blind_rows import LOG_SURE, levels
from .classes import LOG_SMALL, terms_of_classes
from .gradient import scale_of
from .join import joined_slopes
from .program import exp, fast_exp
from .rows import (
    LOWEST,
    blocks_of_program,
    load_block,
    places_of,
    put_at,
    rows_of_program,
    store_part,
)
from .shares import shares_of


@triton.jit
def blind_gradient_kernel(
    logits,
    target,
    keep,
    prior,
    state,
    found,
    slopes,
    upstream,
    count,
    out,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    upstream_stride,
    UPSTREAM: tl.constexpr,
    MEAN: tl.constexpr,
    MORE: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    HAS_PRIOR: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    SERIES: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """``slopes`` are the derivatives with respect to margin and B, times what comes from above."""
    of = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    scale = scale_of(upstream, count, of[0], of[2], upstream_stride, UPSTREAM, MEAN)
    chosen = coefficients(of, state, found, slopes, rows, scale, MORE)
    memory, sizes = (logits, prior, out), (rows, classes, row_stride, column_stride)
    first, _, end = blocks_of_program(of[2], classes, BLOCK, BLOCKS)
    for start in range(first, end, BLOCK):
        write_block(
            start, of, memory, sizes, chosen, HAS_PRIOR, CONTIGUOUS, SERIES, CODE, RESULTS, ROWS, BLOCK
        )


@triton.jit
def coefficients(of, state, found, slopes, rows, scale, MORE: tl.constexpr):
    """Peak, its log p, factor of exp(z - peak), of ratios, what all classes get, label and sure class."""
    row, _, kept = of
    _, peak, per_mass, log_peak = levels(state, row, kept, rows)
    by_margin = tl.load(slopes + row, mask=kept, other=0.0) * scale
    by_blind = tl.load(slopes + rows + row, mask=kept, other=0.0) * scale
    by_direction = by_blind * tl.load(found + rows + row, mask=kept, other=0.0) - by_margin
    at_label = by_margin + by_blind * tl.load(found + 2 * rows + row, mask=kept, other=0.0)
    at_sure = by_blind * tl.load(found + 3 * rows + row, mask=kept, other=0.0) - by_margin * per_mass
    more = joined_slopes(slopes, row, kept, rows, scale, MORE)
    at_label, at_sure, slope = at_label + more[2], at_sure + more[0], by_direction * per_mass + more[0]
    return peak, log_peak, slope, by_blind, more[1], at_label, at_sure


@triton.jit
def write_block(
    start,
    of,
    memory,
    sizes,
    chosen,
    HAS_PRIOR: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    SERIES: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The gradient of one block of the rows ``of``; ``chosen`` are ``coefficients``."""
    row, label, kept = of
    logits, prior, out = memory
    rows, classes, row_stride, column_stride = sizes
    peak, log_peak, slope, by_blind, shift, at_label, at_sure = chosen
    begin, out_begin = logits + row * row_stride, out + row * classes
    z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
    by_ratio = by_blind[:, None] * shares_of(prior, start, classes, HAS_PRIOR, False, ROWS, BLOCK)
    gradient = of_block(z, by_ratio, slope, peak, log_peak, at_sure, SERIES, CODE, RESULTS)
    gradient = tl.where(z == LOWEST, 0.0, gradient + shift[:, None])
    gradient = put_at(gradient, start, label, at_label, BLOCK)
    place = places_of(out_begin, start, 1, True, BLOCK)
    store_part(place, gradient, start, row < rows, kept, classes)


@triton.jit
def of_block(
    z,
    by_ratio,
    slope,
    peak,
    log_peak,
    at_sure,
    SERIES: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
):
    """The gradient of a block, whatever at the label and at masked classes."""
    cut = tl.where(log_peak > LOG_SURE, peak, float("inf"))
    low = z - peak[:, None]
    raised = fast_exp(low)
    log_p, p = low + log_peak[:, None], raised * exp(log_peak)[:, None]
    gradient = raised * slope[:, None]
    if not SERIES:
        gradient -= by_ratio * terms_of_classes(log_p, p, CODE, RESULTS, True)[1]
        gradient = tl.where(z == cut[:, None], at_sure[:, None], gradient)
    elif tl.max(tl.max(log_p, 1), 0) < LOG_SMALL:
        gradient -= by_ratio * terms_of_classes(log_p, p, CODE, RESULTS, True)[1]
    else:
        gradient -= by_ratio * terms_of_classes(log_p, p, CODE, RESULTS, False)[1]
        gradient = tl.where(z == cut[:, None], at_sure[:, None], gradient)
    return gradient
