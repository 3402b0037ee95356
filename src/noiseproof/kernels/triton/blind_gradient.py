# mypy: ignore-errors
"""Triton: the gradient of a function of the margin and of the blind loss, written in one pass."""

import triton
import triton.language as tl

from .blind import LOG_SURE, levels
from .classes import LOG_SMALL, terms_of_classes
from .gradient import scale_of
from .program import exp, fast_exp
from .rows import LOWEST, columns_from, next_label, rows_of_program


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
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    _, peak, per_mass, log_peak = levels(state, row, kept, rows)
    scale = scale_of(upstream, count, row, kept, upstream_stride, UPSTREAM, MEAN)
    by_margin = tl.load(slopes + row, mask=kept, other=0.0) * scale
    by_blind = tl.load(slopes + rows + row, mask=kept, other=0.0) * scale
    by_direction = by_blind * tl.load(found + rows + row, mask=kept, other=0.0) - by_margin
    at_label = by_margin + by_blind * tl.load(found + 2 * rows + row, mask=kept, other=0.0)
    at_sure = by_blind * tl.load(found + 3 * rows + row, mask=kept, other=0.0) - by_margin * per_mass
    for block in range(BLOCKS):
        start = (tl.program_id(1) * BLOCKS + block) * BLOCK
        column, offset = columns_from(start, column_stride, CONTIGUOUS, BLOCK)
        inside = tl.arange(0, BLOCK)
        here = kept[:, None] & (inside < classes - start)[None, :]
        place = (logits + row * row_stride)[:, None] + offset[None, :]
        z = tl.load(place, mask=here, other=LOWEST).to(tl.float32)
        share = shares_of(prior, start, classes, HAS_PRIOR, False, ROWS, BLOCK)
        by_ratio = by_blind[:, None] * share
        slope = by_direction * per_mass
        gradient = of_block(z, by_ratio, slope, peak, log_peak, at_sure, SERIES, CODE, RESULTS)
        gradient = tl.where(z == LOWEST, 0.0, gradient)
        if next_label(label, start) < start + BLOCK:
            is_label = inside[None, :] == (label.to(tl.int32) - start)[:, None]
            gradient = tl.where(is_label, at_label[:, None], gradient)
        there = (row < rows)[:, None] & (inside < classes - start)[None, :]
        place = (out + row * classes)[:, None] + column[None, :]
        tl.store(place, gradient.to(out.dtype.element_ty), mask=there)


@triton.jit
def shares_of(
    prior,
    start,
    classes,
    HAS_PRIOR: tl.constexpr,
    WHOLE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """How much each class counts, (ROWS, BLOCK): every row asks for itself, so none has to wait."""
    column = (start + tl.arange(0, BLOCK))[None, :] + tl.zeros([ROWS, 1], tl.int32)
    if HAS_PRIOR and WHOLE:
        return tl.load(prior + column)
    elif HAS_PRIOR:
        return tl.load(prior + column, mask=column < classes, other=0.0)
    else:
        return tl.full([ROWS, BLOCK], 1.0, tl.float32)


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
