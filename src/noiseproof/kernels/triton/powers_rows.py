# mypy: ignore-errors
"""Triton: sums of powers over a block, over a row, and of the rows that are read once more."""

import triton
import triton.language as tl

from .program import LOG2_E, exp, fast_exp, logsigmoid, sigmoid
from .rows import LOWEST, block_of, without_label
from .shares import number_of, share_of

SURE = tl.constexpr(0.75)


@triton.jit
def raised_to(raised, x, EXPONENT: tl.constexpr):
    """A power of exp(x), which is ``raised``."""
    if EXPONENT == 1.0:
        return raised
    elif EXPONENT == 2.0:
        return raised * raised
    else:
        return tl.exp2(x * (EXPONENT * LOG2_E))


@triton.jit
def looked_at(there, z, share, COUNTED: tl.constexpr, HOPEFUL: tl.constexpr):
    """Take the shares of one block in, and z.

    ``HOPEFUL`` takes no class for masked and adds z up, which gives -inf if one is.
    """
    shares, seen = there
    if not COUNTED:
        shares += tl.sum(share, 2)
    if HOPEFUL:
        seen += tl.sum(z, 2)
    else:
        shares -= tl.sum(tl.where(z == LOWEST, share, 0.0), 2)
    return shares, seen


@triton.jit
def advance(sums, other, share, EXPONENTS: tl.constexpr):
    """Take one block in: peak and mass of the other classes, and their weighted powers."""
    peak, mass, first, second = sums
    higher = tl.maximum(peak, tl.max(other, 2))
    level = tl.where(higher == LOWEST, 0.0, higher)
    shrink, below = fast_exp(peak - level), other - level[:, :, None]
    raised = fast_exp(below)
    mass = mass * shrink + tl.sum(raised, 2)
    power = share * raised_to(raised, below, EXPONENTS[0])
    first = first * raised_to(shrink, peak - level, EXPONENTS[0]) + tl.sum(power, 2)
    if len(EXPONENTS) > 1:
        power = share * raised_to(raised, below, EXPONENTS[1])
        second = second * raised_to(shrink, peak - level, EXPONENTS[1]) + tl.sum(power, 2)
    return higher, mass, first, second


@triton.jit
def totals(sums, there, own, kept, prior, classes, EXPONENTS: tl.constexpr, COUNTED: tl.constexpr):
    """Margin, peak, mass, p of the peak, both sums of powers, shares, and whether classes may be masked."""
    peak = tl.max(sums[0], 1)
    level = tl.where(peak == LOWEST, 0.0, peak)
    step = sums[0] - level[:, None]
    shrink = fast_exp(step)
    mass = tl.sum(sums[1] * shrink, 1)
    margin = tl.where(kept, own - peak - tl.log(mass), 0.0)
    first = tl.sum(sums[2] * raised_to(shrink, step, EXPONENTS[0]), 1)
    second = first * 0.0
    if len(EXPONENTS) > 1:
        second = tl.sum(sums[3] * raised_to(shrink, step, EXPONENTS[1]), 1)
    shares = tl.sum(there[0], 1)
    if COUNTED:
        shares += number_of(tl.load(prior + classes))
    lead = tl.where(mass == 0.0, 0.0, sigmoid(-margin) / mass)
    masked = ~(tl.abs(tl.sum(there[1], 1)) < float("inf"))
    return margin, level, mass, lead, first, second, shares, masked


@triton.jit
def read_again(
    place,
    found,
    EXPONENTS: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Mass and powers without the likeliest of the other classes, its share, and all shares that count.

    Zeros where no row needs them.
    """
    begin, label, kept, prior, classes, column_stride = place
    zero, peak = tl.zeros([ROWS, LANES], tl.float32), found[1][:, None, None]
    mass, first, second, top, shares = zero, zero, zero, zero, zero
    needed = tl.max((kept & ((found[3] > SURE) | found[7])).to(tl.int32), 0)
    for start in range(0, classes * needed, LANES * WIDTH):
        z = block_of(begin, start, kept, classes, column_stride, CONTIGUOUS, False, LANES, WIDTH)
        share = share_of(prior, start, classes, True, False, ROWS, LANES, WIDTH)
        other = without_label(z, start, label, LANES, WIDTH)
        is_top = other == peak
        below = tl.where(is_top, LOWEST, other - peak)
        raised = fast_exp(below)
        mass += tl.sum(raised, 2)
        first += tl.sum(share * raised_to(raised, below, EXPONENTS[0]), 2)
        if len(EXPONENTS) > 1:
            second += tl.sum(share * raised_to(raised, below, EXPONENTS[1]), 2)
        top += tl.sum(tl.where(is_top, share, 0.0), 2)
        shares += tl.sum(tl.where(z == LOWEST, 0.0, share), 2)
    return tl.sum(mass, 1), tl.sum(first, 1), tl.sum(second, 1), tl.sum(top, 1), tl.sum(shares, 1)


@triton.jit
def weighed(first, second, FACTORS: tl.constexpr):
    return first * FACTORS[0] + second * FACTORS[1] if len(FACTORS) > 1 else first * FACTORS[0]


@triton.jit
def powers_at(log_p, EXPONENTS: tl.constexpr):
    """Both powers of p; one that is not there is 0."""
    first = exp(log_p * EXPONENTS[0])
    return first, exp(log_p * EXPONENTS[1]) if len(EXPONENTS) > 1 else first * 0.0


@triton.jit
def of_row(
    found,
    top,
    by_margin,
    label_share,
    factor,
    constant,
    EXPONENTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
):
    """The rows of ``state`` and the blind loss."""
    margin, peak, mass, lead, first, second, shares, masked = found
    shares = tl.where(masked, top[4], shares)
    log_own, rest = logsigmoid(margin), sigmoid(-margin)
    p, at_own = exp(log_own), powers_at(log_own, EXPONENTS)
    at_lead = powers_at(logsigmoid(-margin) - tl.log(tl.where(mass == 0.0, 1.0, mass)), EXPONENTS)
    first, second = first * at_lead[0], second * at_lead[1]
    own_ratio = label_share * weighed(at_own[0], at_own[1], RATIO)
    others = weighed(first, second, RATIO)
    value = weighed(first + label_share * at_own[0], second + label_share * at_own[1], VALUE)
    by_mass = tl.where(mass == 0.0, 0.0, -by_margin / mass)
    at_label = by_margin - factor * (p * others - rest * own_ratio)
    is_sure = lead > SURE
    without = weighed(top[1] * at_lead[0], top[2] * at_lead[1], RATIO) + own_ratio
    at_sure = lead * without - (p + lead * top[0]) * top[3] * weighed(at_lead[0], at_lead[1], RATIO)
    return (
        peak,
        by_mass - factor * lead * (others + own_ratio),
        at_label,
        lead,
        by_mass - factor * at_sure,
        tl.where(is_sure, 1.0, 0.0),
        constant * shares + value,
    )
