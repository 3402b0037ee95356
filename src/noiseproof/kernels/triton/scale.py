# mypy: ignore-errors
"""Triton: multiply in place by a number that only the device knows, at no cost where it is 1."""

import triton
import triton.language as tl
from torch import Tensor

from .start import start

BLOCK_ENTRIES = 8192


@triton.jit
def scale_kernel(tensor, factor, count, BLOCK: tl.constexpr):
    number = tl.load(factor)
    if number != 1.0:
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        entries = tl.load(tensor + place, mask=place < count).to(tl.float32)
        tl.store(tensor + place, (entries * number).to(tensor.dtype.element_ty), mask=place < count)


def scale(tensor: Tensor, factor: Tensor) -> None:
    """``tensor`` contiguous, ``factor`` one float32 number on the same device."""
    count = tensor.numel()
    start(scale_kernel, (triton.cdiv(count, BLOCK_ENTRIES), 1, 1), 8, (tensor, factor, count, BLOCK_ENTRIES))
