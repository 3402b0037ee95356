# mypy: ignore-errors
"""Triton: label frequencies in one launch, for losses whose sum of z is weighted by them."""

import triton
import triton.language as tl

from .launch import Sizes
from .statistics import divide

MAX_BLOCK, PER_WARP = 8192, 256


@triton.jit
def frequencies_kernel(target, frequencies, rows, classes, BLOCK: tl.constexpr):
    """The share of every class among the labels that are class indices; one program."""
    for begin in range(0, classes, BLOCK):
        column = begin + tl.arange(0, BLOCK)
        tl.store(frequencies + column, tl.zeros([BLOCK], tl.float32), mask=column < classes)
    tl.debug_barrier()
    kept = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, rows, BLOCK):
        row = begin + tl.arange(0, BLOCK)
        label = tl.load(target + row, mask=row < rows, other=-1)
        valid = (label >= 0) & (label < classes)
        tl.atomic_add(frequencies + label, 1.0, mask=valid, sem="relaxed")
        kept += tl.where(valid, 1.0, 0.0)
    tl.debug_barrier()
    divide(frequencies, tl.maximum(tl.sum(kept, 0), 1.0), classes, BLOCK)


def frequencies_sizes(rows: int, classes: int) -> Sizes:
    block = min(MAX_BLOCK, max(PER_WARP, triton.next_power_of_2(max(rows, classes))))
    return Sizes((1, 1, 1), block // PER_WARP, (rows, classes, block))
