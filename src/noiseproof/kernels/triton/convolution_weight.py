# mypy: ignore-errors
"""Triton: the gradient of a 3 x 3 convolution of few channels by its weights.

The pixels are cut into parts; a program adds up what one part of them gives one row of taps. The parts are
added up afterwards, always in the same order, so that the same bits come out every time.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from .convolution import TAPS, depth_of
from .start import start

PIXELS, WARPS = 64, 4
PIXELS_OF_PART, FEWEST_PARTS, MOST_PARTS = 768, 22, 88


@triton.jit
def convolution_weight_kernel(
    image,
    gradient,
    parts,
    pixels,
    of_part,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STRIDE: tl.constexpr,
    INPUTS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    DEPTH: tl.constexpr,
    PIXELS: tl.constexpr,
):
    """Programs are counted by part and by row of taps; ``DEPTH`` has room for all inputs of such a row."""
    part, down = tl.program_id(0), tl.program_id(1)
    depth, output = tl.arange(0, DEPTH), tl.arange(0, OUTPUTS)
    used = depth < 3 * INPUTS
    total = tl.zeros([DEPTH, OUTPUTS], tl.float32)
    for first in range(0, of_part, PIXELS):
        pixel = part * of_part + first + tl.arange(0, PIXELS)
        column, row, sample = pixel % COLUMNS, pixel // COLUMNS % ROWS, pixel // (COLUMNS * ROWS)
        y, x = row * STRIDE + down - 1, column * STRIDE - 1
        across = x[:, None] + (depth // INPUTS)[None, :]
        there = ((y >= 0) & (y < HEIGHT) & (pixel < pixels))[:, None]
        there &= (across >= 0) & (across < WIDTH) & used[None, :]
        place = ((sample * HEIGHT + y) * WIDTH + x)[:, None] * INPUTS + depth[None, :]
        values = tl.load(image + place, mask=there, other=0.0)
        place = pixel[:, None] * OUTPUTS + output[None, :]
        slopes = tl.load(gradient + place, mask=(pixel < pixels)[:, None], other=0.0)
        total = tl.dot(tl.trans(values), slopes, total)
    place = (part * OUTPUTS + output[None, :]) * (9 * INPUTS) + down * 3 * INPUTS + depth[:, None]
    tl.store(parts + place, total, mask=used[:, None])


def weight_parts(image: Tensor, gradient: Tensor, stride: int) -> Tensor:
    """(parts, outputs, 3, 3, inputs) in fp32, their sum over the first is the gradient."""
    inputs, height, width = image.shape[1:]
    outputs, rows, columns = gradient.shape[1:]
    pixels = len(image) * rows * columns
    shape = shape_of_parts(image.shape, gradient.shape)
    parts = torch.empty(shape, dtype=torch.float32, device=image.device)
    sizes = height, width, rows, columns, stride, inputs, outputs, depth_of(inputs, TAPS), PIXELS
    start(
        convolution_weight_kernel,
        (shape[0], TAPS, 1),
        WARPS,
        (image, gradient, parts, pixels, pixels_of_part(pixels), *sizes),
    )
    return parts


def shape_of_parts(image: torch.Size, gradient: torch.Size) -> tuple[int, ...]:
    pixels = gradient.numel() // gradient[1]
    return triton.cdiv(pixels, pixels_of_part(pixels)), gradient[1], TAPS, TAPS, image[1]


def pixels_of_part(pixels: int) -> int:
    """Whole turns of the loop of a program.

    >>> [pixels_of_part(128 * side * side) for side in (32, 16, 8)]
    [1536, 832, 384]
    """
    parts = min(MOST_PARTS, max(FEWEST_PARTS, pixels // PIXELS_OF_PART))
    return PIXELS * triton.cdiv(triton.cdiv(pixels, parts), PIXELS)
