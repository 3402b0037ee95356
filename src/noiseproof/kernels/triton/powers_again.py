# mypy: ignore-errors
"""Triton: what the sums of powers say of a row, and reading it again where that is not enough."""

import triton
import triton.language as tl

from .distance import above, doublings, measured
from .powers_rows import advance, in_lanes, level_of
from .program import sigmoid
from .rows import LOWEST, load_block, put_at
from .shares import number_of, shares_of

IN_DOUBT, SURE = tl.constexpr(0.7), tl.constexpr(0.75)
"""Less than what makes a class sure, since numbers of 16-bit logits may be a little off."""
SMALLEST, LARGEST = tl.constexpr(0.5), tl.constexpr(1e9)
"""Of a mass: below no class is at the level, above some are so far from it that digits are lost."""


@triton.jit
def margin_of(distance, mass, kept):
    return tl.where(kept, distance - tl.log(mass), 0.0)


@triton.jit
def totals(
    sums,
    there,
    level,
    own,
    kept,
    prior,
    classes,
    COUNTED: tl.constexpr,
    NARROW: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Level, mass, both sums of powers and shares of rows, and which are to be read again.

    Those are the ones whose whole blocks have masked classes, whose level is far from the peak, and with a
    lane that has most of the row, since that may be one class. Of one block the level is the peak.
    """
    mass, first, second = tl.sum(sums[0], 1), tl.sum(sums[1], 1), tl.sum(sums[2], 1)
    shares = tl.sum(there[0], 1)
    if COUNTED:
        shares += number_of(tl.load(prior + classes))
    is_plain = tl.abs(tl.sum(there[1], 1)) < float("inf")
    fits = (mass >= SMALLEST) & (mass < LARGEST) & (tl.abs(first + second) < float("inf"))
    fullest = tl.where(classes <= BLOCK, 1.0, tl.max(sums[0], 1))
    margin = margin_of(above(own, measured(level, NARROW), NARROW), mass, kept)
    in_doubt = fullest * sigmoid(-margin) > IN_DOUBT * mass
    return (level, mass, first, second, shares), kept & (in_doubt | ~(is_plain & fits))


@triton.jit
def read_again(
    place,
    found,
    again,
    EXPONENTS: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    NARROW: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """``found``, corrected where it is not enough, with the peak for a level.

    Then mass and powers without the likeliest of the other classes, and its share: of such rows only.
    """
    below, top = (found[1], found[2], found[3]), found[4] * 0.0
    if tl.max(again.to(tl.int32), 0) > 0:
        level = peak_of(place, CONTIGUOUS, BLOCK)
        below, at_top = sums_without(place, level, EXPONENTS, CONTIGUOUS, NARROW, LANES, WIDTH, BLOCK)
        top = at_top[0]
        mass = tl.where(level < float("inf"), below[0] + at_top[1], float("nan"))
        found = (
            tl.where(again, level, found[0]),
            tl.where(again, mass, found[1]),
            tl.where(again, below[1] + top, found[2]),
            tl.where(again, below[2] + top, found[3]),
            tl.where(again, at_top[2], found[4]),
        )
    return found, below, top


@triton.jit
def others_at(place, start, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    """A block of logits, and the same with the label masked."""
    begin, label, kept, _, classes, column_stride = place
    z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, False, BLOCK)
    return z, put_at(z, start, label, tl.full(label.shape, LOWEST, tl.float32), BLOCK)


@triton.jit
def peak_of(place, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    """The highest logit of the other classes."""
    peak = tl.full(place[1].shape, LOWEST, tl.float32)
    for start in range(0, place[4], BLOCK):
        peak = tl.maximum(peak, tl.max(others_at(place, start, CONTIGUOUS, BLOCK)[1], 1))
    return level_of(peak)


@triton.jit
def sums_without(
    place,
    peak,
    EXPONENTS: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    NARROW: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Mass and powers of classes below the peak, shares and number of those at it, shares that count."""
    prior, classes = place[3], place[4]
    rows: tl.constexpr = peak.shape[0]
    zero = tl.zeros([rows, LANES], tl.float32)
    mass, first, second, top, tops, shares = zero, zero, zero, zero, zero, zero
    for start in range(0, classes, BLOCK):
        z, other = others_at(place, start, CONTIGUOUS, BLOCK)
        share = shares_of(prior, start, classes, True, False, rows, BLOCK)
        is_top = other == peak[:, None]
        x = tl.where(is_top, LOWEST, doublings(other, peak[:, None], NARROW))
        mass, first, second = advance((mass, first, second), x, share, EXPONENTS, LANES, WIDTH)
        top += in_lanes(tl.where(is_top, share, 0.0), LANES, WIDTH)
        tops += in_lanes(tl.where(is_top, 1.0, 0.0), LANES, WIDTH)
        shares += in_lanes(tl.where(z == LOWEST, 0.0, share), LANES, WIDTH)
    below = (tl.sum(mass, 1), tl.sum(first, 1), tl.sum(second, 1))
    return below, (tl.sum(top, 1), tl.sum(tops, 1), tl.sum(shares, 1))
