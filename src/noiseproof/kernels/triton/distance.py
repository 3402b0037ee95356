# mypy: ignore-errors
"""Triton: how far logits are from the one that exponentials are taken beside."""

import triton
import triton.language as tl

from .program import LOG2_E

LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def measured(level, NARROW: tl.constexpr):
    """A level as ``from_level`` takes it: for logits of 16 bits in doublings, which rounds it."""
    return level * LOG2_E if NARROW else level


@triton.jit
def from_level(z, level, NARROW: tl.constexpr):
    """How many doublings z is above a measured level, for logits of 16 bits in one instruction.

    Of these only the level is rounded, so that all of a row are off by the same, a part in 10^7 of the level;
    take the label's likewise and it cancels. The instruction is asked for by name: left to a compiler, the
    rounded product may be the other one. Logits may be up to 2e38.
    """
    return tl.fma(z, LOG2_E, -level) if NARROW else (z - level) * LOG2_E


@triton.jit
def between(level, other, NARROW: tl.constexpr):
    """How many doublings one measured level is above another."""
    return level - other if NARROW else (level - other) * LOG2_E


@triton.jit
def apart(level, other, NARROW: tl.constexpr):
    """How far one measured level is above another."""
    return (level - other) * LN_2 if NARROW else level - other


@triton.jit
def logit_at(level, NARROW: tl.constexpr, TYPE: tl.constexpr):
    """The logit that was measured: the nearest of its type, which has fewer digits than the level."""
    return (level * LN_2).to(TYPE).to(tl.float32) if NARROW else level


@triton.jit
def doublings(z, level, NARROW: tl.constexpr):
    """(z - level) / log 2."""
    return from_level(z, measured(level, NARROW), NARROW)


@triton.jit
def above(own, level, NARROW: tl.constexpr):
    """How far a label's logit is above a measured level, as far as ``from_level`` has it from all others."""
    return from_level(own, level, NARROW) * LN_2 if NARROW else own - level
