# mypy: ignore-errors
"""Triton: the gradient of cross entropy less its blind part."""

import triton
import triton.language as tl

from .blind import one_lies_in, part_of_prior
from .blind_gradient import share_of_columns
from .gradient import scale_of
from .program import fast_exp
from .rows import columns_from, rows_of_program
from .statistics import LOWEST


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
    for block in range(BLOCKS):
        start = (tl.program_id(1) * BLOCKS + block) * BLOCK
        column, offset = columns_from(start, column_stride, CONTIGUOUS, BLOCK)
        inside = tl.arange(0, BLOCK)
        here = kept[:, None] & (inside < classes - start)[None, :]
        place = (logits + row * row_stride)[:, None] + offset[None, :]
        z = tl.load(place, mask=here, other=LOWEST).to(tl.float32)
        share = share_of_columns(prior, column, classes, True)
        gradient = fast_exp(z - peak[:, None]) * direction[:, None] + by_share[:, None] * share[None, :]
        gradient = tl.where(z == LOWEST, 0.0, gradient)
        if one_lies_in(label, start, BLOCK):
            is_label = inside[None, :] == (label.to(tl.int32) - start)[:, None]
            gradient = tl.where(is_label & here, at_label[:, None], gradient)
        there = (row < rows)[:, None] & (inside < classes - start)[None, :]
        place = (out + row * classes)[:, None] + column[None, :]
        tl.store(place, gradient.to(out.dtype.element_ty), mask=there)
