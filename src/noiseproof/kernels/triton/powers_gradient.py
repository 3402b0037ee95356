# mypy: ignore-errors
"""Triton: the gradient of a loss of powers of p less its blind part."""

import triton
import triton.language as tl

from .distance import doublings
from .gradient import scale_of
from .powers_results import powers_at
from .powers_rows import raised_to
from .rows import blocks_of_program, load_block, next_label, places_of, put_at, rows_of_program, store_part
from .shares import part_of_prior, shares_of


@triton.jit
def powers_gradient_kernel(
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
    EXPONENTS: tl.constexpr,
    RATIO: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """Program (i, k) writes blocks k * BLOCKS onward of its rows; ``out`` is contiguous."""
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    scale = scale_of(upstream, count, row, kept, upstream_stride, True, MEAN)
    narrow: tl.constexpr = logits.dtype.element_ty.primitive_bitwidth == 16
    level = tl.load(state + row, mask=kept, other=0.0)
    direction = tl.load(state + rows + row, mask=kept, other=0.0) * scale
    at_label = tl.load(state + 2 * rows + row, mask=kept, other=0.0) * scale
    at_sure = tl.load(state + 4 * rows + row, mask=kept, other=0.0) * scale
    is_sure = tl.load(state + 5 * rows + row, mask=kept, other=0.0) > 0.0
    by_share = part_of_prior(prior, classes, beta, COUNTED) * scale
    log_lead = tl.load(state + 3 * rows + row, mask=kept, other=0.0)
    chosen = (direction, by_share, log_lead)
    begin, out_begin = logits + row * row_stride, out + row * classes
    first, whole, end = blocks_of_program(kept, classes, BLOCK, BLOCKS)
    whole = tl.where(tl.max(is_sure.to(tl.int32), 0) > 0, first, whole)
    coming = next_label(label, first)
    for start in range(first, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        share = shares_of(prior, start, classes, True, True, ROWS, BLOCK)
        gradient = gradient_of(doublings(z, level[:, None], narrow), share, chosen, EXPONENTS, RATIO)
        if coming < start + BLOCK:
            gradient = put_at(gradient, start, label, at_label, BLOCK)
            coming = next_label(label, start + BLOCK)
        tl.store(places_of(out_begin, start, 1, True, BLOCK), gradient)
    for start in range(whole, end, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
        share = shares_of(prior, start, classes, True, False, ROWS, BLOCK)
        gradient = gradient_of(doublings(z, level[:, None], narrow), share, chosen, EXPONENTS, RATIO)
        gradient = tl.where(is_sure[:, None] & (z == level[:, None]), at_sure[:, None], gradient)
        gradient = put_at(gradient, start, label, at_label, BLOCK)
        place = places_of(out_begin, start, 1, True, BLOCK)
        store_part(place, gradient, start, row < rows, kept, classes)


@triton.jit
def gradient_of(x, share, chosen, EXPONENTS: tl.constexpr, RATIO: tl.constexpr):
    """At the classes other than the label: e times a factor, and their share of powers of p."""
    direction, by_share, log_lead = chosen
    raised = tl.exp2(x)
    first, second = powers_at(log_lead, EXPONENTS)
    first = (by_share * first * RATIO[0])[:, None]
    if len(EXPONENTS) > 1:
        second = (by_share * second * RATIO[1])[:, None]
        power = first * raised_to(raised, x, EXPONENTS[0]) + second * raised_to(raised, x, EXPONENTS[1])
        return raised * direction[:, None] + share * power
    elif EXPONENTS[0] == 1.0:
        return raised * (direction[:, None] + share * first)
    else:
        return raised * direction[:, None] + share * (first * raised_to(raised, x, EXPONENTS[0]))
