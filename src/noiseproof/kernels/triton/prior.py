# mypy: ignore-errors
r"""Triton: cross entropy less what it costs under labels drawn blindly, in one pass.

With s the label's logit, :math:`\Pi=\sum_k\pi_k` and :math:`S=\sum_k\pi_k(z_k-s)` over the classes that are
not masked the loss is :math:`(1-\beta\Pi)(\log\sum_k e^{z_k}-s)+\beta S`. Its gradient is
:math:`(1-\beta\Pi)p_j+\beta\pi_j`, less 1 at the label.
"""

import triton
import triton.language as tl

from .mean import take_last
from .program import fast_exp, logsigmoid, sigmoid
from .rows import LOWEST, block_of, next_label, rows_of_program, without_label
from .shares import number_of, part_of_prior, share_of, share_of_label

FAR = tl.constexpr(-1e30)
"""Stands for a masked logit where nothing times it is to be 0."""


@triton.jit
def prior_kernel(
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
    MEAN: tl.constexpr,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """``state`` gets the peak of the others, the factor of exp(z - peak), and the gradient at the label.

    Last it gets 1 where a whole block has masked classes, 0 elsewhere.
    """
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    begin = logits + tl.minimum(row, rows - 1) * row_stride
    in_range = kept & (label >= 0) & (label < classes)
    own = tl.load(begin + label * column_stride, mask=in_range, other=float("nan")).to(tl.float32)
    zero = tl.zeros([ROWS, LANES], tl.float32)
    mass, pull = (zero + LOWEST, zero), (zero + part_of_all(prior, classes, COUNTED, LANES), zero)
    stop = classes * tl.max(kept.to(tl.int32), 0)
    whole = stop // (LANES * WIDTH) * (LANES * WIDTH)
    coming = next_label(label, 0)
    for start in range(0, whole, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
        share = share_of(prior, start, classes, True, True, ROWS, LANES, WIDTH)
        pull = pulled(pull, z, share, own, True, COUNTED)  # first, so that one z is enough
        if coming < start + LANES * WIDTH:
            z = without_label(z, start, label, LANES, WIDTH)
            coming = next_label(label, start + LANES * WIDTH)
        mass = grown(mass, z)
    pull, masked = recounted(
        pull, begin, whole, own, kept, prior, classes, column_stride, COUNTED, CONTIGUOUS, ROWS, LANES, WIDTH
    )
    for start in range(whole, stop, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        share = share_of(prior, start, classes, True, False, ROWS, LANES, WIDTH)
        pull = pulled(pull, z, share, own, False, COUNTED)
        mass = grown(mass, without_label(z, start, label, LANES, WIDTH))
    label_share = share_of_label(prior, label, in_range)
    factor = part_of_prior(prior, classes, beta, COUNTED)
    results = finish(mass, pull, own, label_share, factor)
    tl.store(values + row, tl.where(kept, results[0], 0.0), mask=row < rows)
    for k in tl.static_range(3):
        tl.store(state + k * rows + row, results[k + 1], mask=row < rows)
    tl.store(state + 3 * rows + row, masked, mask=row < rows)
    take_last(values, values, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def part_of_all(prior, classes, COUNTED: tl.constexpr, LANES: tl.constexpr):
    """All shares together divided among the lanes, exactly; 0 where they are still to be added up."""
    return number_of(tl.load(prior + classes)) * (1.0 / LANES) if COUNTED else 0.0


@triton.jit
def grown(mass, other):
    """Peak and mass of the other classes with those of one more block."""
    higher = tl.maximum(mass[0], tl.max(other, 2))
    level = tl.where(higher == LOWEST, 0.0, higher)
    more = tl.sum(fast_exp(other - level[:, :, None]), 2)
    return higher, mass[1] * fast_exp(mass[0] - level) + more


@triton.jit
def pulled(pull, z, share, own, HOPEFUL: tl.constexpr, COUNTED: tl.constexpr):
    """Sums of the shares of present classes, and of share times z - own.

    ``HOPEFUL`` takes no class for masked, which makes the latter infinite or nan if one is: see
    ``recounted``.
    """
    from_own = z - own[:, None, None]
    if HOPEFUL:
        present = pull[0] if COUNTED else pull[0] + tl.sum(share, 2)
        return present, pull[1] + tl.sum(share * from_own, 2)
    else:
        there = tl.where(z == LOWEST, 0.0, share)
        missing = tl.sum(there - share, 2) if COUNTED else tl.sum(there, 2)
        return pull[0] + missing, pull[1] + tl.sum(there * tl.maximum(from_own, FAR), 2)


@triton.jit
def recounted(
    pull,
    begin,
    whole,
    own,
    kept,
    prior,
    classes,
    column_stride,
    COUNTED: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The sums of ``pulled`` for rows with masked classes, read once more for them; and which these are."""
    wrong = kept[:, None] & ((pull[1] != pull[1]) | (tl.abs(pull[1]) == float("inf")))
    masked = tl.max(wrong.to(tl.int32), 1)
    if tl.max(masked, 0) > 0:
        zero = tl.zeros([ROWS, LANES], tl.float32)
        pull = (zero + part_of_all(prior, classes, COUNTED, LANES), zero)
        for start in range(0, whole, LANES * WIDTH):
            z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, True, LANES, WIDTH)
            share = share_of(prior, start, classes, True, True, ROWS, LANES, WIDTH)
            pull = pulled(pull, z, share, own, False, COUNTED)
    return pull, masked.to(tl.float32)


@triton.jit
def finish(mass, pull, own, label_share, factor):
    """The value and the rows of ``state`` from the sums of all lanes."""
    peak = tl.max(mass[0], 1)
    level = tl.where(peak == LOWEST, 0.0, peak)
    total = tl.sum(mass[1] * fast_exp(mass[0] - level[:, None]), 1)
    margin = own - peak - tl.log(total)
    present = tl.sum(pull[0], 1)
    whole = factor * present
    others = factor * (present - label_share)
    lead = 1.0 - whole
    value = factor * tl.sum(pull[1], 1) - lead * logsigmoid(margin)
    rest = sigmoid(-margin)
    direction = tl.where(total == 0.0, 0.0, lead * rest / total)
    return value, level, direction, -(lead * rest) - others
