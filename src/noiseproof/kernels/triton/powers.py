# mypy: ignore-errors
r"""Triton: a loss of powers of p less what it costs under labels drawn blindly, in one pass.

With :math:`S_i=\sum_k\pi_kp_k^{q_i}` and :math:`\Pi=\sum_k\pi_k` over the classes that are not masked the
blind loss is :math:`v_0\Pi+\sum_iv_iS_i`; its gradient is :math:`p_jR-\pi_j\sum_ic_ip_j^{q_i}` with
:math:`R=\sum_ic_iS_i`. Exponentials are taken beside the highest of the first block, so that no block waits
for a peak. Rows in which another class is far above that are read again, most of those with masked classes
too, and all in which a class other than the label may have more than three quarters: its part in R must not
cancel with itself.
"""

import triton
import triton.language as tl

from .distance import above, doublings, measured
from .mean import take_last
from .powers_again import others_at, read_again, totals
from .powers_results import RESULTS, SUMS, finish
from .powers_rows import advance, level_of, looked_at
from .rows import LOWEST, load_block, next_label, put_at, rows_of_program
from .shares import shares_of


@triton.jit
def powers_kernel(
    logits,
    target,
    prior,
    values,
    state,
    ticket,
    mean,
    count,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    beta,
    constant,
    MEAN: tl.constexpr,
    LATER: tl.constexpr,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    OWN: tl.constexpr,
    OWN_RESULTS: tl.constexpr,
    EXPONENTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """``state`` gets what ``finish`` makes of the sums; ``LATER`` the sums, for ``powers_finish_kernel``."""
    narrow: tl.constexpr = logits.dtype.element_ty.primitive_bitwidth == 16
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    begin = logits + tl.minimum(row, rows - 1) * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    place = (begin, label, kept, prior, classes, column_stride)
    level, sums, there = read(place, EXPONENTS, COUNTED, CONTIGUOUS, narrow, ROWS, LANES, WIDTH, BLOCK)
    found, again = totals(sums, there, level, own, kept, prior, classes, COUNTED, narrow, BLOCK)
    found, below, top = read_again(place, found, again, EXPONENTS, CONTIGUOUS, narrow, LANES, WIDTH, BLOCK)
    distance = above(own, measured(found[0], narrow), narrow)
    numbers = (distance, found[0], found[1], found[2], found[3], found[4], below[0], below[1], below[2], top)
    if LATER:
        tl.static_assert(len(numbers) == SUMS)
        for k in tl.static_range(len(numbers)):
            tl.store(state + (RESULTS + k) * rows + row, numbers[k], mask=row < rows)
    else:
        of = (row, label, kept, rows, classes)
        finish(
            numbers,
            of,
            prior,
            values,
            state,
            beta,
            constant,
            COUNTED,
            OWN,
            OWN_RESULTS,
            EXPONENTS,
            VALUE,
            RATIO,
        )
        take_last(values, values, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def read(
    place,
    EXPONENTS: tl.constexpr,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    NARROW: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The level, and the sums of ``advance`` and of ``looked_at`` over all blocks, lane by lane."""
    begin, label, kept, prior, classes, column_stride = place
    zero = tl.zeros([ROWS, LANES], tl.float32)
    stop = classes * tl.max(kept.to(tl.int32), 0)
    whole = stop // BLOCK * BLOCK * tl.min(kept.to(tl.int32), 0)
    coming = next_label(label, 0)
    level = level_of(tl.max(others_at(place, 0, CONTIGUOUS, BLOCK)[1], 1))
    sums, there = (zero, zero, zero), (zero, zero)
    for start in range(0, whole, BLOCK):
        z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, True, BLOCK)
        share = shares_of(prior, start, classes, True, True, ROWS, BLOCK)
        there = looked_at(there, z, share, COUNTED, True, LANES, WIDTH)  # first, so that one z is enough
        if coming < start + BLOCK:
            z = put_at(z, start, label, tl.full(label.shape, LOWEST, tl.float32), BLOCK)
            coming = next_label(label, start + BLOCK)
        sums = advance(sums, doublings(z, level[:, None], NARROW), share, EXPONENTS, LANES, WIDTH)
    for start in range(whole, stop, BLOCK):
        z, other = others_at(place, start, CONTIGUOUS, BLOCK)
        share = shares_of(prior, start, classes, True, False, ROWS, BLOCK)
        there = looked_at(there, z, share, COUNTED, False, LANES, WIDTH)
        sums = advance(sums, doublings(other, level[:, None], NARROW), share, EXPONENTS, LANES, WIDTH)
    return level, sums, there
