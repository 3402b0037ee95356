"""Another size for every image."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import interpolate

from .base import FixedStep, as_float, whole


class Resize(FixedStep):
    """Bilinear to a square, with a filter against aliasing when it shrinks; the aspect ratio is not kept.

    Shape:
        (N, C, H, W) to (N, C, size, size), floating point
    Example:
        >>> import torch
        >>> Resize(size=2)(torch.ones(1, 3, 5, 7)).shape
        torch.Size([1, 3, 2, 2])
    """

    name = "resize"

    def __init__(self, *, size: int) -> None:
        self.size = whole(self.name, "size", size, least=1)

    def apply(self, images: Tensor) -> Tensor:
        images = as_float(images)
        if images.shape[-2:] == (self.size, self.size):
            return images
        return interpolate(images, (self.size, self.size), mode="bilinear", antialias=True)
