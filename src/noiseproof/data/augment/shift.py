"""Random translations."""

from __future__ import annotations

from torch import Tensor

from ...counter import lower_below, upper_below
from .base import RandomStep
from .window import FILLS, window


class Shift(RandomStep):
    """Moves every image by whole pixels, at most the given fractions of its size, all equally likely.

    What moves in is zero, or with ``fill="edge"`` the nearest pixel, as in the Keras generator of SL's code.

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
        """First row and column of every window: the image moves the other way."""
        down, right = int(self.height * images.shape[-2]), int(self.width * images.shape[-1])
        return upper_below(bits, 2 * down + 1) - down, lower_below(bits, 2 * right + 1) - right

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        top, left = self.offsets(images, bits)
        return window(images, top, left, images.shape[-2], images.shape[-1], self.fill)
