# mypy: ignore-errors
r"""Triton: the gradient of a loss of two labels per row, in one pass.

Each label has its row :math:`d_j(others + square\,d_j + product\,z_j) + shift` as in ``triton_gradient``,
where d is the softmax without that label. Both are multiples of one exponential, so the rows add up to one
such row, except at the two labels themselves.
"""

import triton
import triton.language as tl

from .triton_gradient import coefficients, gradient_at, row_of_gradient
from .triton_program import fast_exp
from .triton_rows import columns_from, rows_of_program
from .triton_statistics import LOWEST


@triton.jit
def one_label(
    begin, label, other, state, partials, slopes, row, kept, rows, column_stride, SLOTS: tl.constexpr
):
    """Coefficients for one label, its peak and 1 / mass, and the gradient it gives the other label."""
    scale = tl.load(slopes + row, mask=kept, other=0.0)
    at_label, others, square, product, shift = coefficients(state, partials, row, kept, scale, rows, SLOTS)
    peak = tl.load(state + rows + row, mask=kept, other=0.0)
    mass = tl.load(state + 2 * rows + row, mask=kept, other=1.0)
    peak = tl.where(peak == LOWEST, 0.0, peak)
    per_mass = tl.where(mass == 0.0, 0.0, 1.0 / mass)
    z = tl.load(begin + other * column_stride, mask=kept, other=LOWEST).to(tl.float32)
    there = gradient_at(z, fast_exp(z - peak) * per_mass, others, square, product, shift, SLOTS)
    there = tl.where(label == other, at_label, there)
    return at_label, others, square, product, shift, peak, per_mass, there


@triton.jit
def together(first, second, lower):
    """The sum of both rows in terms of exp(z - lower), where ``lower`` is the smaller of the peaks."""
    by_first = fast_exp(lower - first[5]) * first[6]
    by_second = fast_exp(lower - second[5]) * second[6]
    return (
        first[0] + second[7],
        first[1] * by_first + second[1] * by_second,
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
    out,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    SLOTS: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """``slopes`` (2, N) are the upstream derivatives of both values; ``out`` is contiguous."""
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    mate = tl.load(partner + row, mask=kept, other=0)
    there = kept & (label >= 0) & (label < classes) & (mate >= 0) & (mate < classes)
    begin = logits + row * row_stride
    first = one_label(begin, label, mate, state, partials, slopes, row, there, rows, column_stride, SLOTS)
    second = one_label(
        begin, mate, label, mate_state, mate_partials, slopes + rows, row, there, rows, column_stride, SLOTS
    )
    lower = tl.minimum(first[5], second[5])
    chosen = together(first, second, lower)
    at_label, at_mate = chosen[0], second[0] + first[7]
    for block in range(BLOCKS):
        start = (tl.program_id(1) * BLOCKS + block) * BLOCK
        column, offset = columns_from(start, column_stride, CONTIGUOUS, BLOCK)
        inside = tl.arange(0, BLOCK)
        here = kept[:, None] & (inside < classes - start)[None, :]
        z = tl.load(begin[:, None] + offset[None, :], mask=here, other=LOWEST).to(tl.float32)
        gradient = row_of_gradient(z, fast_exp(z - lower[:, None]), chosen, SLOTS)
        is_label = inside[None, :] == (label.to(tl.int32) - start)[:, None]
        gradient = tl.where(is_label, at_label[:, None], gradient)
        is_mate = inside[None, :] == (mate.to(tl.int32) - start)[:, None]
        gradient = tl.where(is_mate, at_mate[:, None], gradient)
        exists = (row < rows)[:, None] & (inside < classes - start)[None, :]
        place = (out + row * classes)[:, None] + column[None, :]
        tl.store(place, tl.where(here, gradient, 0.0).to(out.dtype.element_ty), mask=exists)
