# mypy: ignore-errors
r"""Triton: the blind loss without a prior of many classes, from one pass over the logits.

An unlikely class adds :math:`a_0+a_1p+(b_0+b_1p)\log p`, so every lane needs the sums of e, of z and of e z
alone. The likeliest class of a lane is then taken out of them and put through the program. A row in which
more than one millionth may be missing, or with masked classes, is left to ``blind_again_kernel``. The sum of
z is kept where another loss, which is added, wants it.
"""

import triton
import triton.language as tl

from .blind import combined, store_loss, store_numbers
from .distance import LN_2, between, from_level, logit_at, measured
from .program import exp, run
from .rows import block_of, next_label, put_in_lanes, rows_of_program
from .series_rows import does_for_gradient, levels_of, of_lanes, of_row, recounted, sum_of_lanes

LOWEST_PEAK = tl.constexpr(-1e20)
"""Where a lane begins: finite, so that no difference of peaks is nan."""
FAR_BELOW = tl.constexpr(1000.0)
"""How far below another class the label is put, which takes it out of all sums of e."""


@triton.jit
def series_kernel(
    logits,
    target,
    keep,
    state,
    found,
    values,
    partials,
    slopes,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    reach,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    OWN: tl.constexpr,
    OWN_RESULTS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
    SUM_Z: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """As ``statistics_kernel`` and ``blind_kernel``; row 3 of ``state`` says which are to be read again.

    It is 1 for loss and gradient, 2 for the gradient, 0 where the series does.
    ``reach`` times p squared, also times log p, is what the series leave out, beside their first terms.
    ``SUM_Z`` adds rows 4 and 5: the sum of z less the label's, and how many classes are not masked.
    """
    narrow: tl.constexpr = logits.dtype.element_ty.primitive_bitwidth == 16
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, 1)
    begin = logits + row * row_stride
    own, low = label_of(begin, label, kept, classes, column_stride)
    sums = nothing_yet(LANES)
    stop = classes * tl.max(kept.to(tl.int32), 0)
    whole = stop // (LANES * WIDTH) * (LANES * WIDTH)
    coming = next_label(label, 0)
    for start in range(0, whole, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
        if coming < start + LANES * WIDTH:
            z = put_in_lanes(z, start, label, low, LANES, WIDTH)
            coming = next_label(label, start + LANES * WIDTH)
        sums = advance(sums, z, start // LANES * 1.0, 0, WIDTH, True, narrow)
    inside = tl.minimum(tl.maximum(stop - whole - tl.arange(0, LANES) * WIDTH, 0), WIDTH)[None, :]
    count = whole // LANES * 1.0
    if whole < stop:
        z = block_of(begin, whole, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        z = put_in_lanes(z, whole, label, low, LANES, WIDTH)
        sums = advance(sums, z, count, inside, WIDTH, False, narrow)
    sums = natural(sums)
    levels = levels_of(sums, own, kept, narrow)
    counts = count + inside
    lanes, careful = of_lanes(sums, counts, levels, classes, reach, CODE, RESULTS, VALUE, RATIO, narrow)
    results = of_row(lanes, levels, low, CODE, RESULTS, VALUE, RATIO, narrow)
    own_loss = loss_of(levels[0], OWN, OWN_RESULTS)
    left = tl.where(careful, 1.0, tl.where(does_for_gradient(exp(levels[4]), reach, classes), 0.0, 2.0))
    peak = tl.maximum(logit_at(levels[1], narrow, logits.dtype.element_ty), LOWEST_PEAK)
    levels = (levels[0], peak, levels[2])
    store(own_loss, results, levels, left, state, found, values, partials, slopes, row, kept, rows)
    if SUM_Z:
        total = sum_of_lanes(sums, counts, own, low, narrow)
        total = recounted(total, begin, own, kept, stop, column_stride, CONTIGUOUS, LANES, WIDTH // 2)
        store_total(total, state, row, rows)


@triton.jit
def label_of(begin, label, kept, classes, column_stride):
    """Its logit, and one that stands for it, far below another class."""
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    other = tl.load(begin + tl.where(label == 0, column_stride, 0), mask=in_range, other=0.0)
    return own, other.to(tl.float32) - FAR_BELOW


@triton.jit
def store_total(total, state, row, rows):
    """Sum of z and number of classes."""
    for k in tl.static_range(2):
        tl.store(state + (4 + k) * rows + row, total[k], mask=row < rows)


@triton.jit
def loss_of(margin, CODE: tl.constexpr, RESULTS: tl.constexpr):
    """Value and derivative of the label's loss."""
    registers = run((margin,), CODE)
    return registers[RESULTS[0]], registers[RESULTS[1]]


@triton.jit
def store(own_loss, results, levels, left, state, found, values, partials, slopes, row, kept, rows):
    """The loss is the label's over the blind one; where that is yet to be found, the label's."""
    loss = combined(own_loss[0], results[0], 1.0, 2)
    loss = (tl.where(left == 1.0, own_loss[0], loss[0]), loss[1] * own_loss[1], loss[2])
    store_loss(values, slopes, loss, row, kept, rows)
    tl.store(partials + row, own_loss[1], mask=row < rows)
    store_numbers(found, results, row, kept, rows)
    for k in tl.static_range(3):
        tl.store(state + k * rows + row, levels[k], mask=row < rows)
    tl.store(state + 3 * rows + row, tl.where(kept, left, 0.0), mask=row < rows)


@triton.jit
def natural(sums):
    """Peak, mass and the two sums of logarithms, which are no longer binary."""
    return sums[0], sums[1], sums[2] * LN_2, sums[3] * LN_2


@triton.jit
def nothing_yet(LANES: tl.constexpr):
    """The sums of ``advance`` before any block."""
    zero = tl.zeros([1, LANES], tl.float32)
    return zero + LOWEST_PEAK, zero, zero, zero


@triton.jit
def advance(sums, z, count, inside, WIDTH: tl.constexpr, WHOLE: tl.constexpr, NARROW: tl.constexpr):
    """Take one block in: every lane's measured peak, sums of e = 2^x, of x and of their products.

    ``count`` is the number of classes before; in a block that is not whole only the first ``inside`` count.
    """
    peak, mass, depths, products = sums
    higher = tl.maximum(peak, measured(tl.max(z, 2), NARROW))
    step = between(peak, higher, NARROW)
    shrink = tl.exp2(step)
    x = from_level(z, higher[:, :, None], NARROW)
    raised = tl.exp2(x)
    if not WHOLE:
        exists = tl.arange(0, WIDTH)[None, None, :] < inside[:, :, None]
        x, raised = tl.where(exists, x, 0.0), tl.where(exists, raised, 0.0)
    products = shrink * (products + step * mass) + tl.sum(raised * x, 2)
    depths = depths + (count * step + tl.sum(x, 2))
    return higher, mass * shrink + tl.sum(raised, 2), depths, products
