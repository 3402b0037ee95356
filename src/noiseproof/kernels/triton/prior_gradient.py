# mypy: ignore-errors
"""Triton: the gradient of cross entropy less its blind part."""

import triton
import triton.language as tl

from .gradient import scale_of
from .program import fast_exp
from .rows import (
    LOWEST,
    blocks_of_program,
    load_block,
    next_label,
    places_of,
    put_at,
    rows_of_program,
    store_part,
)
from .shares import part_of_prior, shares_of


@triton.jit
def prior_gradient_kernel(
    logits,
    target,
    prior,
    state,
    upstream,
    count,
    out,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    upstream_stride,
    beta,
    MEAN: tl.constexpr,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """Program (i, k) writes blocks k * BLOCKS onward of its rows; ``out`` is contiguous."""
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    scale = scale_of(upstream, count, row, kept, upstream_stride, True, MEAN)
    peak = tl.load(state + row, mask=kept, other=0.0)
    direction = tl.load(state + rows + row, mask=kept, other=0.0) * scale
    at_label = tl.load(state + 2 * rows + row, mask=kept, other=0.0) * scale
    by_share = part_of_prior(prior, classes, beta, COUNTED) * scale
    begin, out_begin = logits + row * row_stride, out + row * classes
    first, whole, end = blocks_of_program(kept, classes, BLOCK, BLOCKS)
    masked = tl.load(state + 3 * rows + row, mask=kept, other=0.0)
    whole = tl.where(tl.max(masked, 0) > 0.0, first, whole)
    coming = next_label(label, first)
    for start in range(first, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        share = shares_of(prior, start, classes, True, True, ROWS, BLOCK)
        gradient = fast_exp(z - peak[:, None]) * direction[:, None] + by_share[:, None] * share
        if coming < start + BLOCK:
            gradient = put_at(gradient, start, label, at_label, BLOCK)
            coming = next_label(label, start + BLOCK)
        tl.store(places_of(out_begin, start, 1, True, BLOCK), gradient)
    for start in range(whole, end, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
        share = shares_of(prior, start, classes, True, False, ROWS, BLOCK)
        gradient = fast_exp(z - peak[:, None]) * direction[:, None] + by_share[:, None] * share
        gradient = put_at(tl.where(z == LOWEST, 0.0, gradient), start, label, at_label, BLOCK)
        place = places_of(out_begin, start, 1, True, BLOCK)
        store_part(place, gradient, start, row < rows, kept, classes)
