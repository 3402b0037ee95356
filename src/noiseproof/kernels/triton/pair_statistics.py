# mypy: ignore-errors
"""Triton: a loss of the margin under two labels per row, from one pass over the logits.

Peak and mass are those of the classes that are neither label. Each label then takes the other one in, which
only adds: nothing cancels where one of the two has nearly all.
"""

import triton
import triton.language as tl

from .mean import take_last
from .program import fast_exp, run
from .rows import LOWEST, block_of, next_label, rows_of_program, without_label


@triton.jit
def pair_statistics_kernel(
    logits,
    target,
    places,
    labels,
    step,
    partner,
    state,
    values,
    partials,
    ticket,
    mean,
    count,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    alpha,
    MEAN: tl.constexpr,
    COUNTS: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """``state`` gets margin, peak and mass for both labels, ``values`` one loss less alpha times another.

    ``step`` is one more afterwards if it counts: the permutation has been drawn, and nobody else reads it.
    """
    if COUNTS:
        tl.store(step, tl.load(step) + 1, mask=tl.program_id(0) == 0)
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    place = tl.load(places + row, mask=kept, other=0)
    mate = tl.load(labels + place, mask=kept, other=0)
    begin = logits + row * row_stride
    own = logit_of(begin, label, kept, classes, column_stride)
    other_own = logit_of(begin, mate, kept, classes, column_stride)
    sums = (tl.full([ROWS, LANES], LOWEST, tl.float32), tl.zeros([ROWS, LANES], tl.float32))
    whole = 0
    if ROWS == 1:
        whole = classes // (LANES * WIDTH) * (LANES * WIDTH) * tl.max(kept.to(tl.int32), 0)
        coming = tl.minimum(next_label(label, 0), next_label(mate, 0))
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            rest = z
            if coming < start + LANES * WIDTH:
                rest = without_label(z, start, label, LANES, WIDTH)
                rest = without_label(rest, start, mate, LANES, WIDTH)
                after = start + LANES * WIDTH
                coming = tl.minimum(next_label(label, after), next_label(mate, after))
            sums = advance(sums, rest)
    for start in range(whole, classes * tl.max(kept.to(tl.int32), 0), LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        rest = without_label(without_label(z, start, label, LANES, WIDTH), start, mate, LANES, WIDTH)
        sums = advance(sums, rest)
    same = label == mate
    first = with_class(sums, own, tl.where(same, LOWEST, other_own))
    second = with_class(sums, other_own, tl.where(same, LOWEST, own))
    tl.store(partner + row, mate, mask=row < rows)
    finish(first, second, state, values, partials, row, kept, rows, alpha, CODE, RESULTS)
    take_last(values, values, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def logit_of(begin, label, kept, classes, column_stride):
    """nan where the label is no class."""
    there = kept & (label >= 0) & (label < classes)
    return tl.load(begin + label * column_stride, mask=there, other=float("nan")).to(tl.float32)


@triton.jit
def advance(sums, rest):
    """Take one block in; every lane has a peak and a mass of its own."""
    peak, mass = sums
    higher = tl.maximum(peak, tl.max(rest, 2))
    level = tl.where(higher == LOWEST, 0.0, higher)
    return higher, mass * fast_exp(peak - level) + tl.sum(fast_exp(rest - level[:, :, None]), 2)


@triton.jit
def with_class(sums, own, z):
    """Margin, peak and mass of one label from those of the rest and the logit ``z`` of the other label."""
    peak = tl.maximum(tl.max(sums[0], 1), z)
    level = tl.where(peak == LOWEST, 0.0, peak)
    mass = tl.sum(sums[1] * fast_exp(sums[0] - level[:, None]), 1) + fast_exp(z - level)
    return own - peak - tl.log(mass), peak, mass


@triton.jit
def finish(
    first, second, state, values, partials, row, kept, rows, alpha, CODE: tl.constexpr, RESULTS: tl.constexpr
):
    for k in tl.static_range(3):
        tl.store(state + k * rows + row, tl.where(kept, first[k], 0.0), mask=row < rows)
        tl.store(state + (k + 3) * rows + row, tl.where(kept, second[k], 0.0), mask=row < rows)
    one, two = run((first[0],), CODE), run((second[0],), CODE)
    value = one[RESULTS[0]] - alpha * two[RESULTS[0]]
    tl.store(values + row, tl.where(kept, value, 0.0), mask=row < rows)
    tl.store(partials + row, tl.where(kept, one[RESULTS[1]], 0.0), mask=row < rows)
    tl.store(partials + rows + row, tl.where(kept, two[RESULTS[1]], 0.0), mask=row < rows)
