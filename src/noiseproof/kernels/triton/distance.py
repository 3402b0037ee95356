# mypy: ignore-errors
"""Triton: how far logits are from the one that exponentials are taken beside."""

import triton
import triton.language as tl

from .program import LOG2_E

LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def doublings(z, level, NARROW: tl.constexpr):
    """(z - level) / log 2, for logits of 16 bits in one instruction.

    Which rounds the level's product alone, so that all of a row are off by the same, a part in 10^7 of the
    level; take the label's likewise and it cancels. Where all products are rounded they are as good as the
    logits are. These may be up to 2e38.
    """
    if NARROW:
        return z * LOG2_E - level * LOG2_E
    else:
        return (z - level) * LOG2_E


@triton.jit
def above(own, level, NARROW: tl.constexpr):
    """How far a label's logit is above the level, as far as ``doublings`` has it from all others."""
    return doublings(own, level, NARROW) * LN_2 if NARROW else own - level
