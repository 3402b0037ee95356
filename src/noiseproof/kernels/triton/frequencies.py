# mypy: ignore-errors
"""Triton: label frequencies in one launch, for losses whose sum of z is weighted by them."""

import torch
import triton
import triton.language as tl

from .launch import ALIGNMENT, MAX_CACHED, Sizes, bound, start
from .statistics import divide

BLOCK, WARPS = 1024, 8
_launches = {}


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


def label_frequencies(target: torch.Tensor, classes: int) -> torch.Tensor:
    """Frequencies (C,) in float32 of the labels (N,) in 0..C-1."""
    target = target.contiguous()
    found = target.new_empty(classes, dtype=torch.float32)
    label, place = target.data_ptr(), found.data_ptr()
    key = (target.get_device(), len(target), classes, label % ALIGNMENT, place % ALIGNMENT)
    if (launch := _launches.get(key)) is not None:
        launch(key[0], label, place)
    else:
        if len(_launches) >= MAX_CACHED:
            _launches.clear()
        sizes = Sizes((1, 1, 1), WARPS, (len(target), classes, BLOCK))
        _launches[key] = bound(start(frequencies_kernel, sizes, (target, found)), sizes, 2)
    return found
