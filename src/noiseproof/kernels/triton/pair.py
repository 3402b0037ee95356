# mypy: ignore-errors
r"""Triton: the gradient of a loss of two labels per row, in one pass.

Each label has its row :math:`d_j(others + square\,(d_j - d_m) + product\,z_j) + shift` as in
``gradient``, where d is the softmax without that label. Both are multiples of one exponential, so the
rows add up to one such row, except at the two labels themselves.
"""

import triton
import triton.language as tl

from .gradient import SUM_P2, coefficients, gradient_at, partial, row_of_gradient, scale_of
from .program import fast_exp, fast_expm1
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


@triton.jit
def scales(slopes, count, row, kept, rows, slope_stride, alpha, PEER: tl.constexpr, MEAN: tl.constexpr):
    """What comes from above for both labels; of a peer loss the second is -alpha times the first."""
    if PEER:
        scale = scale_of(slopes, count, row, kept, slope_stride, True, MEAN)
        return scale, -alpha * scale
    else:
        scale = tl.load(slopes + row, mask=kept, other=0.0)
        return scale, tl.load(slopes + rows + row, mask=kept, other=0.0)


@triton.jit
def in_one(above, label, mate, partials, mate_partials, row, kept, rows, SLOTS: tl.constexpr):
    """Where both labels are one, and so their derivatives, the first has all: what cancels does exactly."""
    alike = label == mate
    for which in tl.static_range(len(SLOTS)):
        first = partial(partials, row, kept, rows, SLOTS, which)
        alike &= first == partial(mate_partials, row, kept, rows, SLOTS, which)
    return tl.where(alike, above[0] + above[1], above[0]), tl.where(alike, 0.0, above[1])


@triton.jit
def one_label(place, label, other, state, partials, by_p2, scale, row, kept, rows, SLOTS: tl.constexpr):
    """Coefficients for one label, its peak and 1 / mass, and the gradient it gives the other label.

    ``place`` is where the other label's logit lies.
    """
    at_label, others, square, product, shift = coefficients(
        state, partials, by_p2, row, kept, scale, rows, SLOTS
    )
    peak = tl.load(state + rows + row, mask=kept, other=0.0)
    mass = tl.load(state + 2 * rows + row, mask=kept, other=1.0)
    peak = tl.where(peak == LOWEST, 0.0, peak)
    per_mass = tl.where(mass == 0.0, 0.0, 1.0 / mass)
    z = tl.load(place, mask=kept, other=LOWEST).to(tl.float32)
    there = gradient_at(
        z,
        z - peak,
        others * per_mass,
        square * per_mass * per_mass,
        product * per_mass,
        shift,
        True,
        SLOTS,
    )
    there = tl.where(label == other, at_label, there)
    return at_label, others, square, product, shift, peak, per_mass, there


@triton.jit
def derivatives_by_p2(partials, mate_partials, scale, mate_scale, row, kept, rows, SLOTS: tl.constexpr):
    """Both partial derivatives with respect to the sum of p squared, all of it left to the first label.

    That sum knows no label, so what the second takes away from the first cancels here, before rounding.
    """
    first = partial(partials, row, kept, rows, SLOTS, SUM_P2)
    second = partial(mate_partials, row, kept, rows, SLOTS, SUM_P2)
    if SLOTS[SUM_P2] >= 0:
        counts = scale != 0.0
        ratio = tl.div_rn(mate_scale, tl.where(counts, scale, 1.0))
        first = tl.where(counts, first + ratio * second, first)
        second = tl.where(counts, 0.0, second)
    return first, second


@triton.jit
def below_peak(side, lower, SLOTS: tl.constexpr):
    """exp(lower - peak) / mass, and ``others`` with d_j less that instead of d_j less d_m."""
    drop = fast_exp(lower - side[5])
    others = side[1]
    if SLOTS[SUM_P2] >= 0:
        others = others + side[2] * side[6] * fast_expm1(lower - side[5], drop)
    return drop * side[6], others


@triton.jit
def together(first, second, lower, SLOTS: tl.constexpr):
    """The sum of both rows in terms of exp(z - lower), where ``lower`` is the smaller of the peaks."""
    by_first, first_others = below_peak(first, lower, SLOTS)
    by_second, second_others = below_peak(second, lower, SLOTS)
    return (
        first[0] + second[7],
        first_others * by_first + second_others * by_second,
        first[2] * by_first * by_first + second[2] * by_second * by_second,
        first[3] * by_first + second[3] * by_second,
        first[4] + second[4],
    )


@triton.jit
def pair_gradient_kernel(
    logits,
    target,
    partner,
    keep,
    state,
    mate_state,
    partials,
    mate_partials,
    slopes,
    count,
    out,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    slope_stride,
    alpha,
    PEER: tl.constexpr,
    MEAN: tl.constexpr,
    SLOTS: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """``slopes`` (2, N) are the upstream derivatives of both values, or see ``scales``."""
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    mate = tl.load(partner + row, mask=kept, other=0)
    there = kept & (label >= 0) & (label < classes) & (mate >= 0) & (mate < classes)
    begin = logits + row * row_stride
    above = scales(slopes, count, row, there, rows, slope_stride, alpha, PEER, MEAN)
    above = in_one(above, label, mate, partials, mate_partials, row, there, rows, SLOTS)
    by_p2 = derivatives_by_p2(partials, mate_partials, above[0], above[1], row, there, rows, SLOTS)
    own, other = begin + label * column_stride, begin + mate * column_stride
    first = one_label(other, label, mate, state, partials, by_p2[0], above[0], row, there, rows, SLOTS)
    second = one_label(
        own, mate, label, mate_state, mate_partials, by_p2[1], above[1], row, there, rows, SLOTS
    )
    lower = tl.minimum(first[5], second[5])
    chosen = together(first, second, lower, SLOTS)
    one = tl.full([ROWS], 1.0, tl.float32)
    at_label, at_mate = chosen[0], second[0] + first[7]
    out_begin = out + row * classes
    first, whole, end = blocks_of_program(kept, classes, BLOCK, BLOCKS)
    coming = tl.minimum(next_label(label, first), next_label(mate, first))
    for start in range(first, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        gradient = row_of_gradient(z, lower, one, chosen, True, SLOTS)
        if coming < start + BLOCK:
            gradient = put_at(gradient, start, label, at_label, BLOCK)
            gradient = put_at(gradient, start, mate, at_mate, BLOCK)
            coming = tl.minimum(next_label(label, start + BLOCK), next_label(mate, start + BLOCK))
        tl.store(places_of(out_begin, start, 1, True, BLOCK), gradient)
    for start in range(whole, end, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
        gradient = row_of_gradient(z, lower, one, chosen, True, SLOTS)
        gradient = put_at(gradient, start, label, at_label, BLOCK)
        gradient = put_at(gradient, start, mate, at_mate, BLOCK)
        place = places_of(out_begin, start, 1, True, BLOCK)
        store_part(place, gradient, start, row < rows, kept, classes)
