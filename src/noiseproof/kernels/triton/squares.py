# mypy: ignore-errors
"""Triton: ``falls``, the sum of e(1 - e) with e = exp(z - peak), for losses of the sum of p squared.

The likeliest class adds 0 to it, so nothing cancels where that class is almost sure; squares of e are what it
lacks to the sum of e.
"""

import triton
import triton.language as tl

from .program import fast_exp, fast_expm1
from .rows import LOWEST, block_of, without_label

SMALL_FALL, TIED_MASS = tl.constexpr(0.0625), tl.constexpr(1.5)


@triton.jit
def lowered(falls, mass, shrink):
    """``falls`` below a peak that is higher: every e becomes e * ``shrink``."""
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
    """``falls`` of whole rows. Where 1 - e is lost in rounding they are read once more: see ``is_tied``."""
    if not WANTED:
        return tl.sum(sums[5], 1)
    peak = tl.max(sums[0], 1)
    level = tl.where(peak == LOWEST, 0.0, peak)
    shrink = fast_exp(sums[0] - level[:, None])
    falls = tl.sum(lowered(sums[5], sums[1], shrink), 1)
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
    """Whether some classes share nearly all of a row with hardly a difference, which 1 - e must show.

    ``falls`` over mass is the mean of 1 - e. Without a tie it may be small as well, but then no e but that
    of the likeliest class is near 1.
    """
    return tl.max(((falls < SMALL_FALL * mass) & (mass > TIED_MASS)).to(tl.int32), 0) > 0
