# mypy: ignore-errors
"""Triton: the mean of a batch."""

import triton
import triton.language as tl

TINY = tl.constexpr(1.1754943508222875e-38)
"""The smallest normal float32."""
MODES = (1, 2)
"""The mean as it is, or by weight; 0 takes none."""
LAST_BLOCK = tl.constexpr(512)


@triton.jit
def mean_kernel(
    values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    take_mean(values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT, BLOCK)


@triton.jit
def take_last(values, slopes, target, ticket, mean, count, rows, ignore_index, MODE: tl.constexpr):
    """The mean of what all programs stored, by the one that is over last. See ``tickets``."""
    if MODE > 0:
        tl.debug_barrier()
        over = tl.atomic_add(ticket, 1, sem="acq_rel", scope="gpu")
        if over == tl.num_programs(0) - 1:
            tl.store(ticket, 0)
            take_mean(values, slopes, target, mean, count, rows, ignore_index, MODE == 2, LAST_BLOCK)


@triton.jit
def take_mean(
    values, slopes, target, mean, count, rows, ignore_index, BY_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """Sum of the values over the number of rows that count, both kept; one program, so always alike."""
    total = tl.zeros([BLOCK], tl.float32)
    kept = tl.zeros([BLOCK], tl.float32)
    weight = tl.zeros([BLOCK], tl.float32)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        total += fresh(values, row, rows)
        label = tl.load(target + row, mask=row < rows, other=0)
        kept += tl.where((row < rows) & (label != ignore_index), 1.0, 0.0)
        if BY_WEIGHT:
            weight -= 2.0 * fresh(slopes, row, rows)
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
        tl.store(numbers + row, fresh(numbers, row, rows) / level, mask=row < rows)


@triton.jit
def fresh(numbers, row, rows):
    """From where all programs see the same, not from what is near to this one."""
    return tl.load(numbers + row, mask=row < rows, other=0.0, cache_modifier=".cg")
