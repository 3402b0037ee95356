# mypy: ignore-errors
"""Triton: the gradient of rows in which a series does not do for every class, though it does for most."""

import triton
import triton.language as tl

from .again import next_of, row_at, rows_apart
from .blind_gradient import coefficients, write_block
from .distance import doublings
from .gradient import scale_of
from .program import exp
from .rows import LOWEST, blocks_of_program, labelled, load_block, next_label, places_of
from .series_gradient import gradient_of, of_series
from .series_rows import does_for_gradient


@triton.jit
def gradient_again_kernel(
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
    reach,
    UPSTREAM: tl.constexpr,
    MEAN: tl.constexpr,
    MORE: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    RATIO: tl.constexpr,
    SERIES: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    NUMBER: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """As ``blind_gradient_kernel`` for rows ``series_gradient_kernel`` left."""
    row, _, kept = labelled(rows_apart(NUMBER), target, keep, rows, ignore_index, HAS_KEEP)
    left = tl.load(state + 3 * rows + row, mask=kept, other=0.0) > 0.0
    memory, sizes = (logits, state, out), (rows, classes, row_stride, column_stride)
    place = next_of(left, 0)
    while place < NUMBER:
        of = row_at(place, target, keep, rows, ignore_index, HAS_KEEP)
        scale = scale_of(upstream, count, of[0], of[2], upstream_stride, UPSTREAM, MEAN)
        chosen = coefficients(of, state, found, slopes, rows, scale, MORE)
        first, whole, end = blocks_of_program(of[2], classes, BLOCK, BLOCKS)
        coming = next_label(of[1], first)
        for start in range(first, end, BLOCK):
            if (start >= whole) | (coming < start + BLOCK):
                write_block(
                    start, of, memory, sizes, chosen, False, CONTIGUOUS, SERIES, CODE, RESULTS, 1, BLOCK
                )
                coming = next_label(of[1], start + BLOCK)
            else:
                write_whole_block(
                    start, of, memory, sizes, chosen, reach, CONTIGUOUS, SERIES, RATIO, CODE, RESULTS, BLOCK
                )
        place = next_of(left, place + 1)


@triton.jit
def write_whole_block(
    start,
    of,
    memory,
    sizes,
    chosen,
    reach,
    CONTIGUOUS: tl.constexpr,
    SERIES: tl.constexpr,
    RATIO: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One without the label; by a series where that does."""
    row, _, kept = of
    logits, _, out = memory
    _, classes, row_stride, column_stride = sizes
    peak, log_peak, slope, by_blind, shift, _, _ = chosen
    begin = logits + row * row_stride
    z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
    if is_unlikely(z, peak, log_peak, reach, BLOCK):
        factors = of_series(slope, shift, by_blind, log_peak, RATIO)
        place = places_of(out + row * classes, start, 1, True, BLOCK)
        tl.store(place, gradient_of(doublings(z, peak[:, None], False), factors))
    else:
        write_block(start, of, memory, sizes, chosen, False, CONTIGUOUS, SERIES, CODE, RESULTS, 1, BLOCK)


@triton.jit
def is_unlikely(z, peak, log_peak, reach, BLOCK: tl.constexpr):
    """Whether no class of the block is masked or likely; those of the block alone are sure to be there."""
    p = exp(tl.max(tl.max(z, 1), 0) - tl.max(peak, 0) + tl.max(log_peak, 0))
    return does_for_gradient(p, reach, BLOCK) & (tl.min(tl.min(z, 1), 0) > LOWEST)
