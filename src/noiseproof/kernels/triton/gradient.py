# mypy: ignore-errors
r"""Triton: the second pass, which writes the gradient of every logit from a few numbers per row.

With d the softmax over the other classes, m the likeliest of them and w the class weights, 1 by default, a
row is :math:`d_j(others + square\,(d_j - d_m) + product\,z_j) + shift\,w_j`, and ``at_label`` at the label:
the chain rule of margin, logsumexp, sum of z, of p squared and of p z.
"""

import triton
import triton.language as tl

from .functions import fast_exp, fast_expm1, sigmoid
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
from .statistics import FAR, is_tied

MARGIN = tl.constexpr(0)
LOGSUMEXP = tl.constexpr(1)
SUM_Z = tl.constexpr(2)
SUM_P2 = tl.constexpr(3)
SUM_PZ = tl.constexpr(4)


@triton.jit
def partial(partials, row, mask, rows, SLOTS: tl.constexpr, WHICH: tl.constexpr):
    """The derivative of the loss with respect to one statistic."""
    if SLOTS[WHICH] < 0:
        return tl.where(mask, 0.0, 0.0)
    else:
        return tl.load(partials + SLOTS[WHICH] * rows + row, mask=mask, other=0.0)


@triton.jit
def coefficients(state, partials, label_weight, row, mask, scale, rows, SLOTS: tl.constexpr):
    """at_label, others, square, product, shift. Scaled last, so that terms that cancel do so exactly."""
    margin = tl.load(state + row, mask=mask, other=0.0)
    at_label = partial(partials, row, mask, rows, SLOTS, MARGIN)
    others = -at_label
    square, product, shift = margin * 0.0, margin * 0.0, margin * 0.0
    p, rest = sigmoid(margin), sigmoid(-margin)
    if SLOTS[SUM_P2] >= 0:
        mass = tl.load(state + 2 * rows + row, mask=mask, other=1.0)
        gap = tl.load(state + 8 * rows + row, mask=mask, other=0.0)
        squares = tl.where(mass == 0.0, 0.0, 1.0 / mass) - gap
        slope = 2 * partial(partials, row, mask, rows, SLOTS, SUM_P2) * rest
        square = slope * rest
        lead = slope * p
        at_label = (at_label + lead) - lead * rest * (1 + squares)
        others = (others - lead) + square * (p * (1 + squares) + gap)
    if SLOTS[LOGSUMEXP] >= 0:
        by_logsumexp = partial(partials, row, mask, rows, SLOTS, LOGSUMEXP)
        at_label, others = at_label + p * by_logsumexp, others + rest * by_logsumexp
    if SLOTS[SUM_Z] >= 0:
        shift = partial(partials, row, mask, rows, SLOTS, SUM_Z)
        at_label = at_label + shift * label_weight
    if SLOTS[SUM_PZ] >= 0:
        sum_pz = tl.load(state + 6 * rows + row, mask=mask, other=0.0)
        own = tl.load(state + 9 * rows + row, mask=mask, other=0.0)
        by_pz = partial(partials, row, mask, rows, SLOTS, SUM_PZ)
        product = by_pz * rest
        at_label = at_label + by_pz * p * (1 + own - sum_pz)
        others = others + product * (1 - sum_pz)
    return at_label * scale, others * scale, square * scale, product * scale, shift * scale


@triton.jit
def scale_of(upstream, count, row, mask, upstream_stride, UPSTREAM: tl.constexpr, MEAN: tl.constexpr):
    """The upstream gradient, divided by the number of kept rows if the loss is their mean."""
    scale = tl.where(mask, 1.0, 0.0)
    if UPSTREAM:
        scale = tl.load(upstream + row * upstream_stride, mask=mask, other=0.0).to(tl.float32)
    if MEAN:
        scale = scale / tl.maximum(tl.load(count), 1.0)
    return scale


@triton.jit
def gradient_kernel(
    logits,
    target,
    keep,
    state,
    partials,
    upstream,
    count,
    weights,
    out,
    rows,
    classes,
    row_stride,
    column_stride,
    out_row_stride,
    out_column_stride,
    ignore_index,
    upstream_stride,
    UPSTREAM: tl.constexpr,
    MEAN: tl.constexpr,
    SLOTS: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    WEIGHTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """Program (i, k) writes the blocks from k * BLOCKS on of its rows; ignored rows become 0."""
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    scale = scale_of(upstream, count, row, kept, upstream_stride, UPSTREAM, MEAN)
    own = 1.0
    if WEIGHTED:
        own = tl.load(weights + label, mask=kept & (label >= 0) & (label < classes), other=0.0)
    chosen = coefficients(state, partials, own, row, kept, scale, rows, SLOTS)
    peak = tl.load(state + rows + row, mask=kept, other=0.0)
    mass = tl.load(state + 2 * rows + row, mask=kept, other=1.0)
    peak = tl.where(peak == LOWEST, 0.0, peak)
    per_mass = tl.where(mass == 0.0, 0.0, 1.0 / mass)
    begin, out_begin = logits + row * row_stride, out + row * out_row_stride
    first, whole, end = blocks_of_program(kept, classes, BLOCK, BLOCKS)
    if SLOTS[SUM_P2] >= 0:
        gap = tl.load(state + 8 * rows + row, mask=kept, other=1.0)
        whole = tl.where(is_tied(gap * mass * mass, mass), first, whole)
    coming = next_label(label, first)
    for start in range(first, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        share = weights_at(weights, start, classes, WEIGHTED, True, BLOCK)
        gradient = row_of_gradient(z, peak, per_mass, chosen, share, False, SLOTS)
        if coming < start + BLOCK:
            gradient = put_at(gradient, start, label, chosen[0], BLOCK)
            coming = next_label(label, start + BLOCK)
        tl.store(places_of(out_begin, start, out_column_stride, CONTIGUOUS, BLOCK), gradient)
    for start in range(whole, end, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
        share = weights_at(weights, start, classes, WEIGHTED, False, BLOCK)
        gradient = row_of_gradient(z, peak, per_mass, chosen, share, True, SLOTS)
        gradient = put_at(gradient, start, label, chosen[0], BLOCK)
        place = places_of(out_begin, start, out_column_stride, CONTIGUOUS, BLOCK)
        store_part(place, gradient, start, row < rows, kept, classes)


@triton.jit
def weights_at(weights, start, classes, WEIGHTED: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr):
    """The weights of the classes of a block, (1, BLOCK)."""
    if not WEIGHTED:
        return 1.0
    else:
        column = (start + tl.arange(0, BLOCK))[None, :]
        if WHOLE:
            return tl.load(weights + column)
        else:
            return tl.load(weights + column, mask=column < classes, other=0.0)


@triton.jit
def row_of_gradient(z, peak, per_mass, chosen, share, TIED: tl.constexpr, SLOTS: tl.constexpr):
    """The gradient at the classes other than the label; 0 where a class is masked."""
    others, square = chosen[1] * per_mass, chosen[2] * per_mass * per_mass
    product, shift = chosen[3] * per_mass, chosen[4]
    below = z - peak[:, None]
    raised = fast_exp(below)
    slope = others[:, None]
    if SLOTS[SUM_P2] >= 0:
        less = fast_expm1(below, raised) if TIED else raised - 1.0
        slope = tl.fma(square[:, None], less, others[:, None])
    if SLOTS[SUM_PZ] >= 0:
        slope = slope + product[:, None] * tl.maximum(z, FAR)
    gradient = raised * slope
    if SLOTS[SUM_Z] >= 0:
        gradient = tl.where(z == LOWEST, 0.0, gradient + shift[:, None] * share)
    return gradient


@triton.jit
def scale_kernel(tensor, factor, count, BLOCK: tl.constexpr):
    """Multiply in place by a number in device memory, at no cost if it is 1."""
    number = tl.load(factor)
    if number != 1.0:
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        entries = tl.load(tensor + place, mask=place < count).to(tl.float32)
        tl.store(tensor + place, (entries * number).to(tensor.dtype.element_ty), mask=place < count)
