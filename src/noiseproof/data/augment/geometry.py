"""Geometric augmentations: crops, flips, resizing, rotations and shifts."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import interpolate, pad

from ...counter import lower_below, shifted_right, upper_below
from .steps import FixedStep, RandomStep, Step, as_float, checked_int

UNIT = 1 << 16
"""Sine and cosine are rounded to multiples of 1/65536, so that all else is exact integer arithmetic."""
FILLS = ("zero", "edge")


class Crop(RandomStep):
    """Pads every image with zeros and crops a window at a random position.

    All offsets are equally likely. ``crop(padding=4)`` on 32x32 images is the augmentation of the CIFAR
    experiments, with 81 offsets; ``crop(size=224)`` after ``resize(size=256)`` that of Clothing1M. On test
    images, a crop with a ``size`` is replaced by ``center_crop`` with the same padding, one without is left
    out.

    Shape:
        (N, C, H, W) to the same, or to (N, C, size, size)
    Example:
        >>> import torch
        >>> images, index = torch.ones(2, 3, 8, 8), torch.arange(2)
        >>> Crop(padding=1)(images, seed=0, epoch=0, index=index).shape
        torch.Size([2, 3, 8, 8])

    Reference:
        He et al., Deep Residual Learning for Image Recognition, CVPR 2016, section 4.2
    """

    name = "crop"
    stream = 1

    def __init__(self, *, padding: int | None = None, size: int | None = None) -> None:
        default = 4 if size is None else 0
        self.padding = checked_int(self.name, "padding", default if padding is None else padding, minimum=0)
        self.size = None if size is None else checked_int(self.name, "size", size, minimum=1)

    def offsets(self, images: Tensor, bits: Tensor) -> tuple[Tensor, Tensor]:
        """First row and column of every window, negative in the padding."""
        high, wide = images.shape[-2:]
        rows = high + 2 * self.padding - (self.size or high) + 1
        columns = wide + 2 * self.padding - (self.size or wide) + 1
        if rows < 1 or columns < 1:
            raise ValueError(f"{self} does not fit into images of {high} x {wide}")
        return upper_below(bits, rows) - self.padding, lower_below(bits, columns) - self.padding

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        top, left = self.offsets(images, bits)
        return window(images, top, left, self.size or images.shape[-2], self.size or images.shape[-1])

    def evaluation(self) -> Step | None:
        return None if self.size is None else CenterCrop(size=self.size, padding=self.padding or None)


class CenterCrop(FixedStep):
    """Crops the centre of every image, optionally padded with zeros; of two centres the upper left one.

    Shape:
        (N, C, H, W) to (N, C, size, size)
    Example:
        >>> import torch
        >>> CenterCrop(size=1)(torch.arange(9.0).view(1, 1, 3, 3))
        tensor([[[[4.]]]])
    """

    name = "center_crop"

    def __init__(self, *, size: int, padding: int | None = None) -> None:
        self.size = checked_int(self.name, "size", size, minimum=1)
        self.padding = None if padding is None else checked_int(self.name, "padding", padding, minimum=0)

    def apply(self, images: Tensor) -> Tensor:
        high, wide = images.shape[-2:]
        border = self.padding or 0
        if min(high, wide) + 2 * border < self.size:
            raise ValueError(f"{self} does not fit into images of {high} x {wide}")
        top, left = (high - self.size) // 2 + border, (wide - self.size) // 2 + border
        padded = pad(images, [border] * 4) if border else images
        return padded[..., top : top + self.size, left : left + self.size]


class Flip(RandomStep):
    """Mirrors every image left to right with probability 1/2.

    Shape:
        (N, C, H, W) to the same
    Example:
        >>> images = torch.tensor([1, 2]).view(1, 1, 1, 2).expand(4, -1, -1, -1).float()
        >>> sorted({tuple(image.flatten().tolist()) for image in Flip()(images, index=torch.arange(4))})
        [(1.0, 2.0), (2.0, 1.0)]
    """

    name = "flip"
    stream = 2

    def mirrored(self, bits: Tensor) -> Tensor:
        """(N,) bool, whether each sample is mirrored."""
        return shifted_right(bits, 63) == 1

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        return torch.where(self.mirrored(bits)[:, None, None, None], images.flip(-1), images)


class Resize(FixedStep):
    """Resizes bilinearly to a square, with antialiasing; the aspect ratio is not kept.

    Shape:
        (N, C, H, W) to (N, C, size, size), floating point
    Example:
        >>> import torch
        >>> Resize(size=2)(torch.ones(1, 3, 5, 7)).shape
        torch.Size([1, 3, 2, 2])
    """

    name = "resize"

    def __init__(self, *, size: int) -> None:
        self.size = checked_int(self.name, "size", size, minimum=1)

    def apply(self, images: Tensor) -> Tensor:
        images = as_float(images)
        if images.shape[-2:] == (self.size, self.size):
            return images
        return interpolate(images, (self.size, self.size), mode="bilinear", antialias=True)


def rotated(images: Tensor, angle: Tensor) -> Tensor:
    """Rotate every image counter-clockwise about its centre; nearest pixel, zero outside the image.

    Shape:
        images (N, C, H, W), angle (N,) floating point in radians
    Example:
        >>> rotated(torch.tensor([[[[1, 2], [3, 4]]]]), torch.tensor([math.pi / 2]))
        tensor([[[[2, 4], [1, 3]]]])
    """
    high, wide = images.shape[-2:]
    cosine = (angle.cos() * UNIT).round().long()[:, None, None]
    sine = (angle.sin() * UNIT).round().long()[:, None, None]
    down = 2 * torch.arange(high, device=images.device)[None, :, None] - (high - 1)
    right = 2 * torch.arange(wide, device=images.device)[None, None, :] - (wide - 1)
    return pixels(
        images,
        _nearest(cosine * down + sine * right, high),
        _nearest(cosine * right - sine * down, wide),
    )


def _nearest(twice: Tensor, size: int) -> Tensor:
    """The pixel at ``twice`` / (2 UNIT) from the centre; the lower of two equally near ones."""
    return torch.div(twice + (size * UNIT - 1), 2 * UNIT, rounding_mode="floor")


class Rotate(RandomStep):
    """Rotates every image by an angle drawn uniformly from -degrees to degrees.

    Nearest pixel and zero fill, as the torchvision transform in public CIFAR-100 code.

    Shape:
        (N, C, H, W) to the same
    Example:
        >>> Rotate(degrees=20)(torch.ones(2, 3, 8, 8), index=torch.arange(2)).shape
        torch.Size([2, 3, 8, 8])

    Reference:
        Ma et al., Normalized Loss Functions for Deep Learning with Noisy Labels, ICML 2020 (its code)
    """

    name = "rotate"
    stream = 4

    def __init__(self, *, degrees: float = 20.0) -> None:
        if isinstance(degrees, bool) or not isinstance(degrees, (int, float)):
            raise TypeError(f"rotate: degrees must be a number, got {degrees!r}")
        if not 0 <= degrees <= 180:
            raise ValueError(f"rotate: degrees={degrees} is out of range, it must be in 0 ... 180")
        self.degrees = float(degrees)

    def angles(self, bits: Tensor) -> Tensor:
        """Angle of every sample in radians, one of 2**24 + 1 equally spaced ones."""
        steps = upper_below(bits, (1 << 24) + 1) - (1 << 23)
        return steps.double() * (math.radians(self.degrees) / (1 << 23))

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        return rotated(images, self.angles(bits))


class Shift(RandomStep):
    """Shifts every image by whole pixels, drawn uniformly up to the given fractions of its size.

    New pixels are zero, or with ``fill="edge"`` the nearest pixel, as in the Keras generator of SL's code.

    Shape:
        (N, C, H, W) to the same
    Example:
        >>> import torch
        >>> Shift(width=0.5, height=0.0)(torch.ones(1, 1, 1, 4), seed=1, index=torch.tensor([0]))
        tensor([[[[...]]]])

    Reference:
        Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019
    """

    name = "shift"
    stream = 3

    def __init__(self, *, width: float = 0.2, height: float = 0.2, fill: str = "zero") -> None:
        for parameter, value in (("width", width), ("height", height)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"shift: {parameter} must be a number, got {value!r}")
            if not 0 <= value < 1:
                raise ValueError(f"shift: {parameter}={value} is out of range, it must satisfy 0 <= x < 1")
        if fill not in FILLS:
            raise ValueError(f"shift: fill={fill!r} is unknown, choose one of {', '.join(FILLS)}")
        self.width, self.height, self.fill = float(width), float(height), fill

    def offsets(self, images: Tensor, bits: Tensor) -> tuple[Tensor, Tensor]:
        """First row and column of every window; the image is shifted in the opposite direction."""
        down, right = int(self.height * images.shape[-2]), int(self.width * images.shape[-1])
        return upper_below(bits, 2 * down + 1) - down, lower_below(bits, 2 * right + 1) - right

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        top, left = self.offsets(images, bits)
        return window(images, top, left, images.shape[-2], images.shape[-1], self.fill)


def window(images: Tensor, top: Tensor, left: Tensor, height: int, width: int, fill: str = "zero") -> Tensor:
    """A window of every image at row ``top`` and column ``left``; outside zero or the nearest pixel.

    Shape:
        images (N, C, H, W), top and left (N,) int64, may be negative; result (N, C, height, width)
    Example:
        >>> one = torch.tensor([[[[1, 2], [3, 4]]]])
        >>> window(one, torch.tensor([-1]), torch.tensor([1]), 2, 2)
        tensor([[[[0, 0], [2, 0]]]])
    """
    rows = top[:, None] + torch.arange(height, device=images.device)
    columns = left[:, None] + torch.arange(width, device=images.device)
    return pixels(images, rows[:, :, None], columns[:, None, :], fill)


def pixels(images: Tensor, rows: Tensor, columns: Tensor, fill: str = "zero") -> Tensor:
    """The pixels of every image at (row, column), for coordinates that broadcast to (N, height, width)."""
    high, wide = images.shape[-2:]
    flat = rows.clamp(0, high - 1) * wide + columns.clamp(0, wide - 1)
    where = flat.flatten(1)[:, None].expand(-1, images.shape[1], -1)
    found = images.flatten(2).gather(2, where).view(*images.shape[:2], *flat.shape[1:])
    if fill == "edge":
        return found
    inside = (rows >= 0) & (rows < high) & (columns >= 0) & (columns < wide)
    return torch.where(inside[:, None], found, 0)
