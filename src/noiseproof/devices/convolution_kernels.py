# mypy: ignore-errors
"""Triton kernels of a 3 x 3 convolution of few channels, and of its gradients.

Pixels are rows of a matrix, as the channels-last format stores them. The convolution is one pass over the
pixels: a program accumulates the products of ``PIXELS`` rows with the weights of one tap, or of ``RUN``
adjacent taps for fewer channels than a tensor core multiplies at once; pixels beyond the border are read as
0. ``REVERSED`` reverses the weights, so that the same kernel computes the gradient with respect to the inputs
at a stride of 1. For the gradient with respect to the weights the pixels are split into parts; a program
accumulates one part for one row of taps, and the parts are summed afterwards in a fixed order, so that
results are bitwise reproducible.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..kernels.triton.launch import Sizes, start

TAPS = 3
MIN_PRODUCTS = 16
"""Smallest inner dimension of a tensor core product."""
FEW_PIXELS = 1 << 14
WARPS = 4
PIXELS_PER_STEP = 64
PIXELS_OF_PART, MIN_PARTS, MAX_PARTS = 768, 22, 88


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
    REVERSED: tl.constexpr,
    RUN: tl.constexpr,
    DEPTH: tl.constexpr,
    PIXELS: tl.constexpr,
):
    """Reads images of HEIGHT x WIDTH and writes ROWS x COLUMNS; DEPTH is the padded size of a run."""
    pixel = tl.program_id(0) * PIXELS + tl.arange(0, PIXELS)
    column, row, sample = pixel % COLUMNS, pixel // COLUMNS % ROWS, pixel // (COLUMNS * ROWS)
    depth, output = tl.arange(0, DEPTH), tl.arange(0, OUTPUTS)
    total = tl.zeros([PIXELS, OUTPUTS], tl.float32)
    for tap_row in tl.static_range(3):
        for tap_column in tl.static_range(0, 3, RUN):
            y, x = row * STRIDE + tap_row - 1, column * STRIDE + tap_column - 1
            inside = ((y >= 0) & (y < HEIGHT) & (pixel < pixels))[:, None]
            if RUN == 1:
                inside &= ((x >= 0) & (x < WIDTH))[:, None]
            else:
                tap_x = x[:, None] + (depth // INPUTS)[None, :]
                inside &= (tap_x >= 0) & (tap_x < WIDTH) & (depth < RUN * INPUTS)[None, :]
            offset = ((sample * HEIGHT + y) * WIDTH + x)[:, None] * INPUTS + depth[None, :]
            values = tl.load(image + offset, mask=inside, other=0.0)
            if REVERSED:
                tap = (2 - tap_row) * 3 + 2 - tap_column
                weight_offset = depth[:, None] * (9 * OUTPUTS) + tap * OUTPUTS + output[None, :]
            else:
                weight_offset = (
                    output[None, :] * (9 * INPUTS) + (tap_row * 3 + tap_column) * INPUTS + depth[:, None]
                )
            factors = tl.load(weight + weight_offset, mask=(depth < RUN * INPUTS)[:, None], other=0.0)
            total = tl.dot(values, factors, total)
    offset = pixel[:, None] * OUTPUTS + output[None, :]
    tl.store(found + offset, total.to(found.dtype.element_ty), mask=(pixel < pixels)[:, None])


def convolve(image: Tensor, weight: Tensor, found: Tensor, stride: int, reverse: bool) -> None:
    """All tensors are channels last. With ``reverse``, ``image`` is the gradient of the outputs and ``found``
    that of the inputs."""
    samples, inputs, height, width = image.shape
    outputs, rows, columns = found.shape[1:]
    pixels = samples * rows * columns
    at_once = 64 if pixels < FEW_PIXELS else 128
    run = run_of(inputs)
    shapes = height, width, rows, columns, stride, inputs, outputs
    arguments = (pixels, *shapes, reverse, run, depth_of(inputs, run), at_once)
    grid = triton.cdiv(pixels, at_once), 1, 1
    start(convolution_kernel, Sizes(grid, WARPS, arguments), (image, weight, found))


def run_of(inputs: int) -> int:
    """Number of taps whose products are accumulated at once.

    >>> run_of(3), run_of(16)
    (3, 1)
    """
    return 1 if inputs >= MIN_PRODUCTS else TAPS


def depth_of(inputs: int, run: int) -> int:
    """Inner dimension of a product, padded to a power of two.

    >>> depth_of(3, run=3), depth_of(32, run=1), depth_of(32, run=3)
    (16, 32, 128)
    """
    return max(MIN_PRODUCTS, triton.next_power_of_2(run * inputs))


@triton.jit
def convolution_weight_kernel(
    image,
    gradient,
    parts,
    pixels,
    part_size,
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
    """The grid is (parts, rows of taps); DEPTH is the padded number of inputs of a row of taps."""
    part, tap_row = tl.program_id(0), tl.program_id(1)
    depth, output = tl.arange(0, DEPTH), tl.arange(0, OUTPUTS)
    used = depth < 3 * INPUTS
    total = tl.zeros([DEPTH, OUTPUTS], tl.float32)
    for first in range(0, part_size, PIXELS):
        pixel = part * part_size + first + tl.arange(0, PIXELS)
        column, row, sample = pixel % COLUMNS, pixel // COLUMNS % ROWS, pixel // (COLUMNS * ROWS)
        y, x = row * STRIDE + tap_row - 1, column * STRIDE - 1
        tap_x = x[:, None] + (depth // INPUTS)[None, :]
        inside = ((y >= 0) & (y < HEIGHT) & (pixel < pixels))[:, None]
        inside &= (tap_x >= 0) & (tap_x < WIDTH) & used[None, :]
        offset = ((sample * HEIGHT + y) * WIDTH + x)[:, None] * INPUTS + depth[None, :]
        values = tl.load(image + offset, mask=inside, other=0.0)
        offset = pixel[:, None] * OUTPUTS + output[None, :]
        slopes = tl.load(gradient + offset, mask=(pixel < pixels)[:, None], other=0.0)
        total = tl.dot(tl.trans(values), slopes, total)
    offset = (part * OUTPUTS + output[None, :]) * (9 * INPUTS) + tap_row * 3 * INPUTS + depth[:, None]
    tl.store(parts + offset, total, mask=used[:, None])


def weight_parts(image: Tensor, gradient: Tensor, stride: int) -> Tensor:
    """Partial sums (parts, outputs, 3, 3, inputs) in fp32; their sum over the parts is the gradient."""
    inputs, height, width = image.shape[1:]
    outputs, rows, columns = gradient.shape[1:]
    pixels = len(image) * rows * columns
    shape = shape_of_parts(image.shape, gradient.shape)
    parts = torch.empty(shape, dtype=torch.float32, device=image.device)
    sizes = height, width, rows, columns, stride, inputs, outputs, depth_of(inputs, TAPS), PIXELS_PER_STEP
    arguments = (pixels, pixels_of_part(pixels), *sizes)
    start(convolution_weight_kernel, Sizes((shape[0], TAPS, 1), WARPS, arguments), (image, gradient, parts))
    return parts


def shape_of_parts(image: torch.Size, gradient: torch.Size) -> tuple[int, ...]:
    pixels = gradient.numel() // gradient[1]
    return triton.cdiv(pixels, pixels_of_part(pixels)), gradient[1], TAPS, TAPS, image[1]


def pixels_of_part(pixels: int) -> int:
    """Pixels per part, a multiple of the step of a program.

    >>> [pixels_of_part(128 * side * side) for side in (32, 16, 8)]
    [1536, 832, 384]
    """
    parts = min(MAX_PARTS, max(MIN_PARTS, pixels // PIXELS_OF_PART))
    return PIXELS_PER_STEP * triton.cdiv(triton.cdiv(pixels, parts), PIXELS_PER_STEP)
