# mypy: ignore-errors
"""Triton: the mean of a batch."""

import triton
import triton.language as tl

TINY = tl.constexpr(1.1754943508222875e-38)
"""The smallest normal float32."""


@triton.jit
def mean_kernel(
    values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """Sum of the values over the number of rows that count, both kept; one program, so always alike."""
    total = tl.zeros([BLOCK], tl.float32)
    kept = tl.zeros([BLOCK], tl.float32)
    weight = tl.zeros([BLOCK], tl.float32)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        total += tl.load(values + row, mask=row < rows, other=0.0)
        label = tl.load(target + row, mask=row < rows, other=0)
        kept += tl.where((row < rows) & (label != ignore_index), 1.0, 0.0)
        if BY_WEIGHT:
            weight -= 2.0 * tl.load(slopes + row, mask=row < rows, other=0.0)
    number = tl.sum(kept, 0)
    everything = tl.sum(total, 0)
    if BY_WEIGHT:
        level = tl.maximum(tl.sum(weight, 0) / tl.maximum(number, 1.0), TINY)
        divide(values, level, rows, BLOCK)
        divide(slopes, level, rows, BLOCK)
        everything = everything / level
    tl.store(count, number)
    tl.store(mean, everything / tl.maximum(number, 1.0))


@triton.jit
def divide(numbers, level, rows, BLOCK: tl.constexpr):
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        tl.store(numbers + row, tl.load(numbers + row, mask=row < rows, other=0.0) / level, mask=row < rows)
