# mypy: ignore-errors
"""Triton: zeros, by a launch that can be heard like those of all other kernels."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from .start import start

BLOCK_ENTRIES = 1024


@triton.jit
def zero_kernel(numbers, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(numbers + place, tl.zeros([BLOCK], tl.float32), mask=place < count)


def zeros(count: int, like: Tensor) -> Tensor:
    """(count,) in float32, where ``like`` is."""
    numbers = like.new_empty(count, dtype=torch.float32)
    start(zero_kernel, (triton.cdiv(count, BLOCK_ENTRIES), 1, 1), 4, (numbers, count, BLOCK_ENTRIES))
    return numbers
