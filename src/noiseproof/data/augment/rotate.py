"""Random rotations."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...counter import upper_below
from .base import RandomStep
from .window import pixels

UNIT = 1 << 16
"""Sine and cosine in steps of 1/65536: the rest is integer arithmetic, the same on every device."""


def rotated(images: Tensor, angle: Tensor) -> Tensor:
    """Every image turned counter-clockwise about its centre; nearest pixel, zero from outside.

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
    """Turns every image by an angle between -degrees and degrees, all equally likely.

    Nearest pixel and zero fill, as the torchvision transform that public CIFAR-100 code adds.

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
