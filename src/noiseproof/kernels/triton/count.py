# mypy: ignore-errors
"""Triton: how many rows of a batch have each class for a label, and after those how many there are."""

import triton
import triton.language as tl


@triton.jit
def count_kernel(target, counts, rows, classes, ignore_index, BLOCK: tl.constexpr):
    """``counts`` (C + 1,) begins as 0: float32, or whole numbers of 16 bits, added to two by two.

    Exact: whole numbers, and of 16 bits only where they hold all rows.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(target + row, mask=row < rows, other=0)
    kept = (row < rows) & (label != ignore_index)
    found, everything = kept & (label >= 0) & (label < classes), tl.sum(kept.to(tl.int32), 0)
    if counts.dtype.element_ty == tl.float32:
        tl.atomic_add(counts + label, tl.full([BLOCK], 1.0, tl.float32), mask=found, sem="relaxed")
        tl.atomic_add(counts + classes, everything.to(tl.float32), sem="relaxed")
    else:
        one = tl.full([BLOCK], 1, tl.int32) << ((label & 1) * 16).to(tl.int32)
        tl.atomic_add(counts + (label >> 1), one, mask=found, sem="relaxed")
        tl.atomic_add(counts + (classes >> 1), everything << ((classes & 1) * 16), sem="relaxed")


@triton.jit
def compare_kernel(target, counts, rows, classes, ignore_index, BLOCK: tl.constexpr, CLASSES: tl.constexpr):
    """The same for few rows and classes: every program compares some classes with all labels."""
    column = tl.program_id(0) * CLASSES + tl.arange(0, CLASSES)
    found, everything = tl.zeros([CLASSES], tl.int32), 0
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        label = tl.load(target + row, mask=row < rows, other=ignore_index)
        kept = label != ignore_index
        found += tl.sum((kept[None, :] & (label[None, :] == column[:, None])).to(tl.int32), 1)
        everything += tl.sum(kept.to(tl.int32), 0)
    tl.store(counts + column, found, mask=column < classes)
    if tl.program_id(0) == 0:
        tl.store(counts + classes, everything)
