# mypy: ignore-errors
"""Triton: how many rows of a batch have each class for a label, and after those how many there are."""

import triton
import triton.language as tl


@triton.jit
def count_kernel(target, counts, rows, classes, ignore_index, BLOCK: tl.constexpr):
    """``counts`` (C + 1,) begins as 0. Whole numbers: exact."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(target + row, mask=row < rows, other=0)
    kept = (row < rows) & (label != ignore_index)
    one = tl.full([BLOCK], 1.0, tl.float32)
    tl.atomic_add(counts + label, one, mask=kept & (label >= 0) & (label < classes), sem="relaxed")
    tl.atomic_add(counts + classes, tl.sum(kept.to(tl.float32), 0), sem="relaxed")


@triton.jit
def compare_kernel(target, counts, rows, classes, ignore_index, BLOCK: tl.constexpr, CLASSES: tl.constexpr):
    """The same for few rows and classes: every program compares some classes with all labels."""
    column = tl.program_id(0) * CLASSES + tl.arange(0, CLASSES)
    found, everything = tl.zeros([CLASSES], tl.float32), 0.0
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        label = tl.load(target + row, mask=row < rows, other=ignore_index)
        kept = label != ignore_index
        found += tl.sum(tl.where(kept[None, :] & (label[None, :] == column[:, None]), 1.0, 0.0), 1)
        everything += tl.sum(kept.to(tl.float32), 0)
    tl.store(counts + column, found, mask=column < classes)
    if tl.program_id(0) == 0:
        tl.store(counts + classes, everything)
