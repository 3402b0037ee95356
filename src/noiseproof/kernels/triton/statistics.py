# mypy: ignore-errors
r"""Triton: one pass over the logits that leaves a few numbers per row.

Online: a running maximum of the other logits (``peak``) and sums that shrink when it grows, so every
logit is read once and raised once. The label takes no part, which keeps a margin exact where p is 1.
For the sum of p squared see ``squares``.
Half precision is bound by arithmetic, not memory: hence lanes that only meet at the end of the row.
"""

import triton
import triton.language as tl

from .mean import take_last
from .program import fast_exp, logsigmoid, run, sigmoid
from .rows import LOWEST, block_of, next_label, rows_of_program, without_label
from .squares import fallen, lowered

FAR = tl.constexpr(-1e20)
"""Stands for a masked logit where nothing times it is to be 0."""


@triton.jit
def statistics_kernel(
    logits,
    target,
    keep,
    state,
    values,
    partials,
    tables,
    ticket,
    mean,
    count,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    MEAN: tl.constexpr,
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
    """``state`` gets the rows of ``launch.State``, ``values`` and ``partials`` the results of the program."""
    row, label, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    begin = logits + row * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    own = tl.where(kept, own, 0.0)
    zero = tl.zeros([ROWS, LANES], tl.float32)
    sums = (zero + LOWEST, zero, zero, zero, zero, zero)
    whole = 0
    if ROWS == 1:
        whole = classes // (LANES * WIDTH) * (LANES * WIDTH) * tl.max(kept.to(tl.int32), 0)
        coming = next_label(label, 0)
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            other = z
            if coming < start + LANES * WIDTH:
                other = without_label(z, start, label, LANES, WIDTH)
                coming = next_label(label, start + LANES * WIDTH)
            sums = advance(sums, z, other, own, WANTED, True)
        if WANTED[0]:
            sums = recounted(sums, begin, whole, own, column_stride, CONTIGUOUS, WANTED, LANES, WIDTH)
    for start in range(whole, classes * tl.max(kept.to(tl.int32), 0), LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        sums = advance(sums, z, without_label(z, start, label, LANES, WIDTH), own, WANTED, False)
    falls = fallen(sums, begin, label, kept, classes, column_stride, CONTIGUOUS, WANTED[1], LANES, WIDTH)
    found = totals(sums, falls, own, kept, EXTRA, WANTED)
    for k in tl.static_range(len(found)):
        tl.store(state + k * rows + row, found[k], mask=row < rows)
    if len(RESULTS) > 0:
        registers = run(inputs_of(found, EXTRA and not WANTED[4]), CODE, tables)
        tl.store(values + row, tl.where(kept, registers[RESULTS[0]], 0.0), mask=row < rows)
        for k in tl.static_range(1, len(RESULTS)):
            place = partials + (k - 1) * rows + row
            tl.store(place, tl.where(kept, registers[RESULTS[k]], 0.0), mask=row < rows)
        take_last(values, partials, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def advance(sums, z, other, own, WANTED: tl.constexpr, HOPEFUL: tl.constexpr):
    """Take one block in. Every lane has its own maximum and sums, so lanes need not wait for each other.

    ``HOPEFUL`` adds up z as if no class were masked, which gives -inf if one is: see ``recounted``.
    """
    peak, mass, sum_z, present, products, falls = sums
    higher = tl.maximum(peak, tl.max(other, 2))
    level = tl.where(higher == LOWEST, 0.0, higher)
    shrink = fast_exp(peak - level)
    raised = fast_exp(other - level[:, :, None])
    if WANTED[1]:
        falls = lowered(falls, mass, shrink) + tl.sum(raised * (1.0 - raised), 2)
    mass = mass * shrink + tl.sum(raised, 2)
    if WANTED[0]:
        from_own = z - own[:, None, None] if WANTED[3] else z
        if HOPEFUL:
            sum_z, present = sum_z + tl.sum(from_own, 2), present + z.shape[2]
        else:
            sum_z = sum_z + tl.sum(tl.where(z == LOWEST, 0.0, from_own), 2)
            present = present + tl.sum(tl.where(z == LOWEST, 0.0, 1.0), 2)
    if WANTED[2]:
        products = products * shrink + tl.sum(raised * tl.maximum(other, FAR), 2)
    return higher, mass, sum_z, present, products, falls


@triton.jit
def recounted(
    sums,
    begin,
    whole,
    own,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    WANTED: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sum of z and number of classes of a row with masked classes, which is read once more for them."""
    peak, mass, sum_z, present, products, falls = sums
    if tl.min(tl.min(sum_z, 1), 0) == LOWEST:
        sum_z, present = tl.zeros_like(mass), tl.zeros_like(mass)
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, own == own, whole, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            from_own = z - own[:, None, None] if WANTED[3] else z
            sum_z += tl.sum(tl.where(z == LOWEST, 0.0, from_own), 2)
            present += tl.sum(tl.where(z == LOWEST, 0.0, 1.0), 2)
    return peak, mass, sum_z, present, products, falls


@triton.jit
def totals(sums, falls, own, kept, EXTRA: tl.constexpr, WANTED: tl.constexpr):
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
        sum_z, present, gap, sum_p2, sum_pz = nothing, nothing, nothing, nothing, nothing
        if WANTED[0]:
            sum_z, present = tl.sum(sums[2], 1), tl.sum(sums[3], 1)
        if WANTED[1]:
            per_square = tl.where(mass == 0.0, 0.0, 1.0 / (mass * mass))
            sum_p2 = p * p + rest * rest * ((mass - falls) * per_square)
            gap = falls * per_square
        if WANTED[2]:
            sum_pz = p * own + rest * (tl.sum(sums[4] * shrink, 1) / mass)
        return margin, peak, mass, logsumexp, sum_z, sum_p2, sum_pz, present, gap, own


@triton.jit
def inputs_of(found, EXTRA: tl.constexpr):
    """The registers a program starts with: statistics relative to the label's logit, and present classes."""
    if not EXTRA:
        return (found[0],)
    else:
        return (found[0], found[3], found[4], found[5], found[6] - found[9], found[7])
