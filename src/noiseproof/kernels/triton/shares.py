# mypy: ignore-errors
"""Triton: how much each class counts."""

import triton
import triton.language as tl

from .rows import columns_of


@triton.jit
def part_of_prior(prior, classes, beta, COUNTED: tl.constexpr):
    """What the numbers in ``prior`` are multiplied with: beta, over all rows where they are counts."""
    if COUNTED:
        return tl.div_rn(beta * 1.0, tl.maximum(tl.load(prior + classes), 1.0))
    else:
        return beta * 1.0


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
    """How much each class counts, (ROWS, LANES, WIDTH): every row asks for itself, so none has to wait."""
    column = columns_of(start, LANES, WIDTH)[None, :, :] + tl.zeros([ROWS, 1, 1], tl.int32)
    if HAS_PRIOR and WHOLE:
        return tl.load(prior + column)
    elif HAS_PRIOR:
        return tl.load(prior + column, mask=column < classes, other=0.0)
    else:
        return tl.full([ROWS, LANES, WIDTH], 1.0, tl.float32)
