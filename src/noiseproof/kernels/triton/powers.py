# mypy: ignore-errors
r"""Triton: a loss of powers of p less what it costs under labels drawn blindly, in one pass.

With :math:`S_i=\sum_k\pi_kp_k^{q_i}` and :math:`\Pi=\sum_k\pi_k` over the classes that are not masked the
blind loss is :math:`v_0\Pi+\sum_iv_iS_i`; its gradient is :math:`p_jR-\pi_j\sum_ic_ip_j^{q_i}` with
:math:`R=\sum_ic_iS_i`. Rows with masked classes are read once more, and so are those in which a class other
than the label has more than three quarters, whose part in R must not cancel with itself.
"""

import triton
import triton.language as tl

from .mean import take_last
from .powers_rows import advance, looked_at, of_row, read_again, totals
from .program import run
from .rows import LOWEST, block_of, next_label, rows_of_program, without_label
from .shares import part_of_prior, share_of, share_of_label


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
):
    """``state`` gets the peak of the others, the factor of exp(z - peak), and the gradient at the label.

    Then it gets p of the peak, the gradient there, and 1 where that is a sure class.
    """
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    begin = logits + tl.minimum(row, rows - 1) * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    place = (begin, label, kept, prior, classes, column_stride)
    sums, there = read(place, EXPONENTS, COUNTED, CONTIGUOUS, ROWS, LANES, WIDTH)
    found = totals(sums, there, own, kept, prior, classes, EXPONENTS, COUNTED)
    top = read_again(place, found, EXPONENTS, CONTIGUOUS, ROWS, LANES, WIDTH)
    own_loss = run((found[0],), OWN)
    label_share = share_of_label(prior, label, in_range)
    factor = part_of_prior(prior, classes, beta, COUNTED)
    results = of_row(
        found, top, own_loss[OWN_RESULTS[1]], label_share, factor, constant, EXPONENTS, VALUE, RATIO
    )
    value = own_loss[OWN_RESULTS[0]] - factor * results[6]
    tl.store(values + row, tl.where(kept, value, 0.0), mask=row < rows)
    for k in tl.static_range(6):
        tl.store(state + k * rows + row, results[k], mask=row < rows)
    take_last(values, values, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def read(
    place,
    EXPONENTS: tl.constexpr,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The sums of ``advance`` and of ``looked_at`` over all blocks, lane by lane."""
    begin, label, kept, prior, classes, column_stride = place
    zero = tl.zeros([ROWS, LANES], tl.float32)
    sums, there = (zero + LOWEST, zero, zero, zero), (zero, zero)
    stop = classes * tl.max(kept.to(tl.int32), 0)
    whole = stop // (LANES * WIDTH) * (LANES * WIDTH) * tl.min(kept.to(tl.int32), 0)
    coming = next_label(label, 0)
    for start in range(0, whole, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
        share = share_of(prior, start, classes, True, True, ROWS, LANES, WIDTH)
        there = looked_at(there, z, share, COUNTED, True)  # first, so that one z is enough
        if coming < start + LANES * WIDTH:
            z = without_label(z, start, label, LANES, WIDTH)
            coming = next_label(label, start + LANES * WIDTH)
        sums = advance(sums, z, share, EXPONENTS)
    for start in range(whole, stop, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        share = share_of(prior, start, classes, True, False, ROWS, LANES, WIDTH)
        there = looked_at(there, z, share, COUNTED, False)
        sums = advance(sums, without_label(z, start, label, LANES, WIDTH), share, EXPONENTS)
    return sums, there
