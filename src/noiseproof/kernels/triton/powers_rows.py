# mypy: ignore-errors
"""Triton: sums of powers over a block of logits."""

import triton
import triton.language as tl

from .rows import LOWEST


@triton.jit
def raised_to(raised, x, EXPONENT: tl.constexpr):
    """A power of 2 to the x, which is ``raised``."""
    if EXPONENT == 1.0:
        return raised
    elif EXPONENT == 2.0:
        return raised * raised
    else:
        return tl.exp2(x * EXPONENT)


@triton.jit
def level_of(peak):
    """What exponentials are taken beside; 0 where all classes are masked."""
    return tl.where(peak == LOWEST, 0.0, peak)


@triton.jit
def in_lanes(x, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Sums of a block (ROWS, BLOCK) over what a thread has of it: (ROWS, LANES)."""
    parts: tl.constexpr = x.shape[1] // (LANES * WIDTH)
    return tl.sum(tl.sum(tl.reshape(x, [x.shape[0], parts, LANES, WIDTH]), 3), 1)


@triton.jit
def looked_at(
    there,
    z,
    share,
    COUNTED: tl.constexpr,
    HOPEFUL: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Take the shares of one block in, and z.

    ``HOPEFUL`` takes no class for masked and adds z up, which gives -inf if one is.
    """
    shares, seen = there
    if not COUNTED:
        shares += in_lanes(share, LANES, WIDTH)
    if HOPEFUL:
        seen += in_lanes(z, LANES, WIDTH)
    else:
        shares -= in_lanes(tl.where(z == LOWEST, share, 0.0), LANES, WIDTH)
    return shares, seen


@triton.jit
def advance(sums, x, share, EXPONENTS: tl.constexpr, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Take one block in: the mass of the other classes, and their weighted powers."""
    mass, first, second = sums
    raised = tl.exp2(x)
    mass += in_lanes(raised, LANES, WIDTH)
    first += in_lanes(share * raised_to(raised, x, EXPONENTS[0]), LANES, WIDTH)
    if len(EXPONENTS) > 1:
        second += in_lanes(share * raised_to(raised, x, EXPONENTS[1]), LANES, WIDTH)
    return mass, first, second
