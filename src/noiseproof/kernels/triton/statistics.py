# mypy: ignore-errors
r"""Triton: one pass over the logits that computes a few numbers per row, runs the program and takes the mean.

Online: a running maximum of the other logits (``peak``) and sums that are rescaled when it grows, so every
logit is read and exponentiated once. The label is left out, which keeps a margin exact where p is 1.
Half precision is bound by arithmetic, not by memory: hence lanes that are only combined at the end of the
row.
"""

import triton
import triton.language as tl

from .functions import fast_exp, fast_expm1, logsigmoid, run, sigmoid
from .rows import LOWEST, block_of, next_label, rows_of_program, without_label

FAR = tl.constexpr(-1e20)
"""Stands for a masked logit where its product with 0 must be 0."""
TINY = tl.constexpr(1.1754943508222875e-38)
"""The smallest normal float32."""
SMALL_FALL, TIED_MASS = tl.constexpr(0.0625), tl.constexpr(1.5)
LAST_BLOCK = tl.constexpr(512)
NO_MEAN, PLAIN_MEAN, MEAN_BY_WEIGHT = 0, 1, 2
"""Modes: rows only; their mean; the same after division by the mean weight of the batch."""


@triton.jit
def statistics_kernel(
    logits,
    target,
    keep,
    state,
    values,
    partials,
    tables,
    weights,
    ticket,
    mean,
    count,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    MODE: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    EXTRA: tl.constexpr,
    WANTED: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """``state`` gets the rows of ``launch.State``, ``values`` and ``partials`` the results of the program.

    WANTED are flags: sum of z, squares, products, statistics relative to the label's logit, weighted classes.
    """
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    begin = logits + row * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    own = tl.where(kept, own, 0.0)
    zero = tl.zeros([ROWS, LANES], tl.float32)
    sums, of_z, whole = (zero + LOWEST, zero, zero, zero), (zero, zero), 0
    if ROWS == 1:
        whole = classes // (LANES * WIDTH) * (LANES * WIDTH) * tl.max(kept.to(tl.int32), 0)
        coming = next_label(label, 0)
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            share = shares_of(weights, start, classes, WANTED[4], True, LANES, WIDTH)
            of_z = add_z(of_z, z, own, share, WANTED, True)
            if coming < start + LANES * WIDTH:
                z = without_label(z, start, label, LANES, WIDTH)
                coming = next_label(label, start + LANES * WIDTH)
            sums = advance(sums, z, WANTED)
        of_z = recounted(of_z, begin, weights, whole, own, column_stride, CONTIGUOUS, WANTED, LANES, WIDTH)
    for start in range(whole, classes * tl.max(kept.to(tl.int32), 0), LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        share = shares_of(weights, start, classes, WANTED[4], False, LANES, WIDTH)
        of_z = add_z(of_z, z, own, share, WANTED, False)
        sums = advance(sums, without_label(z, start, label, LANES, WIDTH), WANTED)
    falls = fallen(sums, begin, label, kept, classes, column_stride, CONTIGUOUS, WANTED[1], LANES, WIDTH)
    found = totals(sums, of_z, falls, own, kept, EXTRA, WANTED)
    store_rows(state, found, row, rows)
    if len(RESULTS) > 0:
        registers = run(inputs_of(found, EXTRA), CODE, tables)
        store_results(values, partials, registers, row, kept, rows, RESULTS)
        mean_of_last(values, partials, target, ticket, mean, count, rows, ignore_index, MODE)


@triton.jit
def store_rows(place, numbers, row, rows):
    """Numbers per row, one row of ``place`` after the other."""
    for k in tl.static_range(len(numbers)):
        tl.store(place + k * rows + row, numbers[k], mask=row < rows)


@triton.jit
def store_results(values, partials, registers, row, kept, rows, RESULTS: tl.constexpr):
    """The value and the partial derivatives of every row, 0 where it is ignored."""
    tl.store(values + row, tl.where(kept, registers[RESULTS[0]], 0.0), mask=row < rows)
    for k in tl.static_range(1, len(RESULTS)):
        place = partials + (k - 1) * rows + row
        tl.store(place, tl.where(kept, registers[RESULTS[k]], 0.0), mask=row < rows)


@triton.jit
def shares_of(
    weights,
    start,
    classes,
    WEIGHTED: tl.constexpr,
    WHOLE: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The weights of the classes of a block, (1, LANES, WIDTH); loaded as the logits are."""
    if not WEIGHTED:
        return 1.0
    else:
        column = (start + tl.arange(0, LANES * WIDTH))[None, :]
        if WHOLE:
            return tl.reshape(tl.load(weights + column), [1, LANES, WIDTH])
        else:
            share = tl.load(weights + column, mask=column < classes, other=0.0)
            return tl.reshape(share, [1, LANES, WIDTH])


@triton.jit
def advance(sums, other, WANTED: tl.constexpr):
    """Add one block. Every lane has its own maximum and sums, so lanes need not wait for each other."""
    peak, mass, products, falls = sums
    higher = tl.maximum(peak, tl.max(other, 2))
    level = tl.where(higher == LOWEST, 0.0, higher)
    shrink = fast_exp(peak - level)
    raised = fast_exp(other - level[:, :, None])
    if WANTED[1]:
        falls = lowered(falls, mass, shrink) + tl.sum(raised * (1.0 - raised), 2)
    mass = mass * shrink + tl.sum(raised, 2)
    if WANTED[2]:
        products = products * shrink + tl.sum(raised * tl.maximum(other, FAR), 2)
    return higher, mass, products, falls


@triton.jit
def add_z(of_z, z, own, share, WANTED: tl.constexpr, HOPEFUL: tl.constexpr):
    """Add one block to the weighted sum of z and the number of classes, without the masked ones.

    ``HOPEFUL`` adds as if no class were masked, which gives -inf or nan if one is: see ``recounted``.
    Weights sum to 1, so only the weight of masked classes is subtracted here: ``totals`` adds the 1.
    """
    if not WANTED[0]:
        return of_z
    else:
        from_own = z - own[:, None, None] if WANTED[3] else z
        masked = z == LOWEST
        weighted = from_own * share if HOPEFUL else tl.where(masked, 0.0, from_own * share)
        present = z.shape[2] if HOPEFUL else tl.sum(tl.where(masked, 0.0, 1.0), 2)
        if WANTED[4]:
            present = 0.0 if HOPEFUL else -tl.sum(tl.where(masked, share, 0.0), 2)
        return of_z[0] + tl.sum(weighted, 2), of_z[1] + present


@triton.jit
def recounted(
    of_z,
    begin,
    weights,
    whole,
    own,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    WANTED: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sum of z and number of classes of a row with masked classes, which is read a second time."""
    if not WANTED[0]:
        return of_z
    if tl.min(tl.min((of_z[0] > LOWEST).to(tl.int32), 1), 0) == 0:
        of_z = tl.zeros_like(of_z[0]), tl.zeros_like(of_z[1])
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, own == own, whole, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            share = shares_of(weights, start, whole, WANTED[4], True, LANES, WIDTH)
            of_z = add_z(of_z, z, own, share, WANTED, False)
    return of_z


@triton.jit
def totals(sums, of_z, falls, own, kept, EXTRA: tl.constexpr, WANTED: tl.constexpr):
    """The rows of ``state`` from the sums of all lanes; ignored rows get margin 0."""
    peak = tl.max(sums[0], 1)
    shrink = fast_exp(sums[0] - tl.where(peak == LOWEST, 0.0, peak)[:, None])
    mass = tl.sum(sums[1] * shrink, 1)
    margin = tl.where(kept, own - peak - tl.log(mass), 0.0)
    if not EXTRA:
        return margin, peak, mass
    else:
        p, rest = sigmoid(margin), sigmoid(-margin)
        nothing = margin * 0.0
        logsumexp = -logsigmoid(margin) if WANTED[3] else own - logsigmoid(margin)
        sum_z, present = tl.sum(of_z[0], 1), tl.sum(of_z[1], 1) + (1.0 if WANTED[4] else 0.0)
        gap, sum_p2, sum_pz = nothing, nothing, nothing
        if WANTED[1]:
            per_square = tl.where(mass == 0.0, 0.0, 1.0 / (mass * mass))
            sum_p2 = p * p + rest * rest * ((mass - falls) * per_square)
            gap = falls * per_square
        if WANTED[2]:
            sum_pz = p * own + rest * (tl.sum(sums[2] * shrink, 1) / mass)
        return margin, peak, mass, logsumexp, sum_z, sum_p2, sum_pz, present, gap, own


@triton.jit
def inputs_of(found, EXTRA: tl.constexpr):
    """The registers a program starts with: statistics relative to the label's logit, and present classes."""
    if not EXTRA:
        return (found[0],)
    else:
        return (found[0], found[3], found[4], found[5], found[6] - found[9], found[7])


# The sum of p squared: ``falls`` is the sum of e(1 - e) with e = exp(z - peak). The likeliest class adds 0 to
# it, so nothing cancels where that class is almost certain; the sum of e squared is the sum of e less
# ``falls``.


@triton.jit
def lowered(falls, mass, shrink):
    """``falls`` relative to a higher peak: every e becomes e * ``shrink``."""
    return shrink * (falls + (1.0 - shrink) * (mass - falls))


@triton.jit
def fallen(
    sums,
    begin,
    label,
    kept,
    classes,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    WANTED: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """``falls`` of whole rows. Rows in which 1 - e is lost in rounding are read again: see ``is_tied``."""
    if not WANTED:
        return tl.sum(sums[3], 1)
    peak = tl.max(sums[0], 1)
    level = tl.where(peak == LOWEST, 0.0, peak)
    shrink = fast_exp(sums[0] - level[:, None])
    falls = tl.sum(lowered(sums[3], sums[1], shrink), 1)
    if is_tied(falls, tl.sum(sums[1] * shrink, 1)):
        exact = tl.zeros_like(shrink)
        for start in range(0, classes * tl.max(kept.to(tl.int32), 0), LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
            below = without_label(z, start, label, LANES, WIDTH) - level[:, None, None]
            raised = fast_exp(below)
            exact -= tl.sum(raised * fast_expm1(below, raised), 2)
        falls = tl.sum(exact, 1)
    return falls


@triton.jit
def is_tied(falls, mass):
    """Whether several classes share nearly all of a row almost equally.

    ``falls`` over mass is the mean of 1 - e. It may be small without a tie, but then only the e of the
    likeliest class is near 1.
    """
    return tl.max(((falls < SMALL_FALL * mass) & (mass > TIED_MASS)).to(tl.int32), 0) > 0


# The mean of the batch.


@triton.jit
def mean_of_last(values, slopes, target, ticket, mean, count, rows, ignore_index, MODE: tl.constexpr):
    """The mean of what all programs stored, taken by the one that finishes last. See ``launch.Tickets``."""
    if MODE > 0:
        tl.debug_barrier()
        over = tl.atomic_add(ticket, 1, sem="acq_rel", scope="gpu")
        if over == tl.num_programs(0) - 1:
            tl.store(ticket, 0)
            take_mean(values, slopes, target, mean, count, rows, ignore_index, MODE == 2, LAST_BLOCK)


@triton.jit
def mean_kernel(
    values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """The same as a separate launch, for captured graphs without a ticket."""
    take_mean(values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT, BLOCK)


@triton.jit
def take_mean(
    values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """Sum of the values over the number of kept rows, both stored; one program, hence reproducible.

    BY_WEIGHT first divides values and slopes by the mean weight: twice the emphasis, which is minus the
    slope.
    """
    total = tl.zeros([BLOCK], tl.float32)
    kept = tl.zeros([BLOCK], tl.float32)
    weight = tl.zeros([BLOCK], tl.float32)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        total += fresh(values, row, rows)
        label = tl.load(target + row, mask=row < rows, other=0)
        kept += tl.where((row < rows) & (label != ignore_index), 1.0, 0.0)
        if BY_WEIGHT:
            weight -= 2.0 * fresh(slopes, row, rows)
    number = tl.sum(kept, 0)
    everything = tl.sum(total, 0)
    if BY_WEIGHT:
        level = tl.maximum(tl.sum(weight, 0) / tl.maximum(number, 1.0), TINY)
        divide(values, level, rows, BLOCK)
        divide(slopes, level, rows, BLOCK)
        everything = everything / level
    tl.store(count, number)
    tl.store(mean, everything / tl.maximum(number, 1.0))


@triton.jit
def divide(numbers, level, rows, BLOCK: tl.constexpr):
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        tl.store(numbers + row, fresh(numbers, row, rows) / level, mask=row < rows)


@triton.jit
def fresh(numbers, row, rows):
    """Load without the L1 cache, which does not contain what other programs stored."""
    return tl.load(numbers + row, mask=row < rows, other=0.0, cache_modifier=".cg")


@triton.jit
def frequencies_kernel(target, frequencies, rows, classes, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    """Label frequencies, as weights of the sum of z: shares of the labels in 0..C-1. One program."""
    for begin in range(0, classes, COLUMNS):
        column = begin + tl.arange(0, COLUMNS)
        tl.store(frequencies + column, tl.zeros([COLUMNS], tl.float32), mask=column < classes)
    tl.debug_barrier()
    kept = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, rows, BLOCK):
        row = begin + tl.arange(0, BLOCK)
        label = tl.load(target + row, mask=row < rows, other=-1)
        valid = (label >= 0) & (label < classes)
        tl.atomic_add(frequencies + label, 1.0, mask=valid, sem="relaxed")
        kept += tl.where(valid, 1.0, 0.0)
    tl.debug_barrier()
    divide(frequencies, tl.maximum(tl.sum(kept, 0), 1.0), classes, COLUMNS)
