# mypy: ignore-errors
"""Triton: the gradient of rows in which a series does for every class but the label."""

import triton
import triton.language as tl

from .blind_gradient import coefficients
from .distance import LN_2, doublings
from .gradient import scale_of
from .program import exp
from .rows import blocks_of_program, load_block, next_label, places_of, put_at, rows_of_program, store_part


@triton.jit
def series_gradient_kernel(
    logits,
    target,
    keep,
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
    CONTIGUOUS: tl.constexpr,
    RATIO: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """As ``blind_gradient_kernel``; ``gradient_again_kernel`` writes the other rows."""
    narrow: tl.constexpr = logits.dtype.element_ty.primitive_bitwidth == 16
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, 1)
    if tl.max(tl.load(state + 3 * rows + row, mask=kept, other=0.0), 0) > 0.0:
        return
    scale = scale_of(upstream, count, row, kept, upstream_stride, UPSTREAM, MEAN)
    of = (row, label, kept)
    peak, log_peak, slope, by_blind, shift, at_label, _ = coefficients(
        of, state, found, slopes, rows, scale, MORE
    )
    chosen = of_series(slope, shift, by_blind, log_peak, RATIO)
    begin, out_begin = logits + row * row_stride, out + row * classes
    first, whole, end = blocks_of_program(kept, classes, BLOCK, BLOCKS)
    coming = next_label(label, first)
    for start in range(first, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        gradient = gradient_of(doublings(z, peak[:, None], narrow), chosen)
        if coming < start + BLOCK:
            gradient = put_at(gradient, start, label, at_label, BLOCK)
            coming = next_label(label, start + BLOCK)
        tl.store(places_of(out_begin, start, 1, True, BLOCK), gradient)
    for start in range(whole, end, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
        gradient = put_at(
            gradient_of(doublings(z, peak[:, None], narrow), chosen), start, label, at_label, BLOCK
        )
        place = places_of(out_begin, start, 1, True, BLOCK)
        store_part(place, gradient, start, row < rows, kept, classes)


@triton.jit
def of_series(slope, shift, by_blind, log_p, RATIO: tl.constexpr):
    """Coefficients of e = 2^x and e x, p being the factor of e: shift + slope e - by_blind ratio(p e)."""
    p = exp(log_p)
    by_p, by_p2 = by_blind * p, by_blind * p * p
    return (
        shift - by_blind * RATIO[0],
        slope - by_p * (RATIO[1] + RATIO[4] * log_p),
        -by_p2 * (RATIO[2] + RATIO[5] * log_p),
        -by_p * (RATIO[4] * LN_2),
        -by_p2 * (RATIO[5] * LN_2),
    )


@triton.jit
def gradient_of(x, chosen):
    e = tl.exp2(x)
    plain = chosen[1][:, None] + chosen[2][:, None] * e
    return chosen[0][:, None] + e * (plain + x * (chosen[3][:, None] + chosen[4][:, None] * e))
