# mypy: ignore-errors
"""Triton: a 3 x 3 convolution of few channels, and its gradient by the inputs, in one pass over the pixels.

Pixels are rows of a matrix, as channels last has them in memory. What a program adds up are products of
``PIXELS`` rows and the weights of one tap, or of the ``RUN`` taps beside each other where the channels are
fewer than a tensor core takes at once; pixels of the border are read as 0. ``BACK`` turns the weights round,
so that the same kernel finds gradients by the inputs, at a stride of 1.
"""

import triton
import triton.language as tl
from torch import Tensor

from .start import start

TAPS, PADDING = 3, 1
FEWEST_PRODUCTS = 16
"""A tensor core adds up so many at once."""
FEW_PIXELS = 1 << 14
WARPS = 4


@triton.jit
def convolution_kernel(
    image,
    weight,
    found,
    pixels,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STRIDE: tl.constexpr,
    INPUTS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    BACK: tl.constexpr,
    RUN: tl.constexpr,
    DEPTH: tl.constexpr,
    PIXELS: tl.constexpr,
):
    """``HEIGHT`` and ``WIDTH`` are read, ``ROWS`` and ``COLUMNS`` written; ``DEPTH`` has room for a run."""
    pixel = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)
    column, row, sample = pixel % COLUMNS, pixel // COLUMNS % ROWS, pixel // (COLUMNS * ROWS)
    depth, output = tl.arange(0, DEPTH), tl.arange(0, OUTPUTS)
    total = tl.zeros([PIXELS, OUTPUTS], tl.float32)
    for down in tl.static_range(3):
        for right in tl.static_range(0, 3, RUN):
            y, x = row * STRIDE + down - 1, column * STRIDE + right - 1
            there = ((y >= 0) & (y < HEIGHT) & (pixel < pixels))[:, None]
            if RUN == 1:
                there &= ((x >= 0) & (x < WIDTH))[:, None]
            else:
                across = x[:, None] + (depth // INPUTS)[None, :]
                there &= (across >= 0) & (across < WIDTH) & (depth < RUN * INPUTS)[None, :]
            place = ((sample * HEIGHT + y) * WIDTH + x)[:, None] * INPUTS + depth[None, :]
            values = tl.load(image + place, mask=there, other=0.0)
            if BACK:
                tap = (2 - down) * 3 + 2 - right
                spot = depth[:, None] * (9 * OUTPUTS) + tap * OUTPUTS + output[None, :]
            else:
                spot = output[None, :] * (9 * INPUTS) + (down * 3 + right) * INPUTS + depth[:, None]
            factors = tl.load(weight + spot, mask=(depth < RUN * INPUTS)[:, None], other=0.0)
            total = tl.dot(values, factors, total)
    place = pixel[:, None] * OUTPUTS + output[None, :]
    tl.store(found + place, total.to(found.dtype.element_ty), mask=(pixel < pixels)[:, None])


def convolve(image: Tensor, weight: Tensor, found: Tensor, stride: int, back: bool) -> None:
    """All channels last; ``back``: ``image`` is the gradient by the outputs, ``found`` that by the inputs."""
    samples, inputs, height, width = image.shape
    outputs, rows, columns = found.shape[1:]
    pixels = samples * rows * columns
    at_once = 64 if pixels < FEW_PIXELS else 128
    run = run_of(inputs)
    sizes = height, width, rows, columns, stride, inputs, outputs, back, run, depth_of(inputs, run), at_once
    grid = triton.cdiv(pixels, at_once), 1, 1
    start(convolution_kernel, grid, WARPS, (image, weight, found, pixels, *sizes))


def run_of(inputs: int) -> int:
    """Taps whose products are added up at once.

    >>> run_of(3), run_of(16)
    (3, 1)
    """
    return 1 if inputs >= FEWEST_PRODUCTS else TAPS


def depth_of(inputs: int, run: int) -> int:
    """
    >>> depth_of(3, run=3), depth_of(32, run=1), depth_of(32, run=3)
    (16, 32, 128)
    """
    return max(FEWEST_PRODUCTS, triton.next_power_of_2(run * inputs))
