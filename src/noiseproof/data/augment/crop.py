"""Random and central crops."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import pad

from ...counter import lower_below, upper_below
from .base import FixedStep, RandomStep, Step, whole
from .window import window


class Crop(RandomStep):
    """Pads every image with zeros and cuts a window out of it at a random place.

    Every offset is equally likely. ``crop(padding=4)`` on 32x32 images is the augmentation of the CIFAR
    experiments, with 81 offsets; ``crop(size=224)`` after ``resize(size=256)`` that of Clothing1M. On test
    images a crop with a ``size`` becomes ``center_crop`` with the same padding, one without falls away.

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
        self.padding = whole(self.name, "padding", default if padding is None else padding, least=0)
        self.size = None if size is None else whole(self.name, "size", size, least=1)

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
    """The middle of every image, padded with zeros if asked to; of two middles the upper left one.

    Shape:
        (N, C, H, W) to (N, C, size, size)
    Example:
        >>> import torch
        >>> CenterCrop(size=1)(torch.arange(9.0).view(1, 1, 3, 3))
        tensor([[[[4.]]]])
    """

    name = "center_crop"

    def __init__(self, *, size: int, padding: int | None = None) -> None:
        self.size = whole(self.name, "size", size, least=1)
        self.padding = None if padding is None else whole(self.name, "padding", padding, least=0)

    def apply(self, images: Tensor) -> Tensor:
        high, wide = images.shape[-2:]
        border = self.padding or 0
        if min(high, wide) + 2 * border < self.size:
            raise ValueError(f"{self} does not fit into images of {high} x {wide}")
        top, left = (high - self.size) // 2 + border, (wide - self.size) // 2 + border
        padded = pad(images, [border] * 4) if border else images
        return padded[..., top : top + self.size, left : left + self.size]
