"""Random mirror images."""

from __future__ import annotations

import torch
from torch import Tensor

from ...counter import shifted_right
from .base import RandomStep


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
        """Which samples are mirrored."""
        return shifted_right(bits, 63) == 1

    def apply(self, images: Tensor, bits: Tensor) -> Tensor:
        return torch.where(self.mirrored(bits)[:, None, None, None], images.flip(-1), images)
