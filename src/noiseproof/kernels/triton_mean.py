# mypy: ignore-errors
"""Triton: the mean of a batch."""

import triton
import triton.language as tl


@triton.jit
def mean_kernel(values, target, mean, count, rows, ignore_index, BLOCK: tl.constexpr):
    """Sum of the values over the number of rows that count, both kept; one program, so always alike."""
    total = tl.zeros([BLOCK], tl.float32)
    kept = tl.zeros([BLOCK], tl.float32)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        total += tl.load(values + row, mask=row < rows, other=0.0)
        label = tl.load(target + row, mask=row < rows, other=0)
        kept += tl.where((row < rows) & (label != ignore_index), 1.0, 0.0)
    number = tl.sum(kept, 0)
    tl.store(count, number)
    tl.store(mean, tl.sum(total, 0) / tl.maximum(number, 1.0))
