# mypy: ignore-errors
"""Triton: how much each class counts, in float32 or as numbers of rows in 16 bits."""

import triton
import triton.language as tl

UNITS = tl.constexpr(0x4B000000)
"""The bits of 2^23 in float32; the last one stands for 1."""


@triton.jit
def number_of(share):
    """In float32, exactly: a count in the last bits of 2^23, less that."""
    if share.dtype == tl.uint16:
        return (share.to(tl.uint32) | UNITS).to(tl.float32, bitcast=True) - 8388608.0
    else:
        return share


@triton.jit
def part_of_prior(prior, classes, beta, COUNTED: tl.constexpr):
    """What the numbers in ``prior`` are multiplied with: beta, over all rows where they are counts."""
    if COUNTED:
        return tl.div_rn(beta * 1.0, tl.maximum(number_of(tl.load(prior + classes)), 1.0))
    else:
        return beta * 1.0


@triton.jit
def share_of_label(prior, label, in_range):
    return number_of(tl.load(prior + label, mask=in_range, other=0))


@triton.jit
def shares_at(prior, column, classes, WHOLE: tl.constexpr):
    if WHOLE:
        return number_of(tl.load(prior + column))
    else:
        return number_of(tl.load(prior + column, mask=column < classes, other=0))


@triton.jit
def shares_of(
    prior,
    start,
    classes,
    HAS_PRIOR: tl.constexpr,
    WHOLE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """How much each class counts, (ROWS, BLOCK).

    Every row asks for itself, so none has to wait; what a thread asks for twice is loaded once.
    """
    if HAS_PRIOR:
        column = (start + tl.arange(0, BLOCK))[None, :] + tl.zeros([ROWS, 1], tl.int32)
        return shares_at(prior, column, classes, WHOLE)
    else:
        return tl.full([ROWS, BLOCK], 1.0, tl.float32)


@triton.jit
def share_of(
    prior,
    start,
    classes,
    HAS_PRIOR: tl.constexpr,
    WHOLE: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """How much each class counts, (ROWS, LANES, WIDTH) as from ``block_of``."""
    share = shares_of(prior, start, classes, HAS_PRIOR, WHOLE, ROWS, LANES * WIDTH)
    return tl.reshape(share, [ROWS, LANES, WIDTH])
