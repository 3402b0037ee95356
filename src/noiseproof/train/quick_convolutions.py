"""The convolutions of a captured step, in the form that a GPU is quick at.

Three things are done to the layers of a network while it trains in 16 bits, channels last, and none changes a
number but by rounding. Layers of few channels have kernels of their own. Channels in numbers tensor cores
and loads are slow at, such as 196, are filled up with zeros. And a bias is added where batch norm reads the
outputs rather than in a pass over memory of its own, once torch.compile has seen both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from .gpu.convolution import OLDEST_CAPABILITY, is_quick, narrow_convolution, suits

EVEN = 16
"""Channels that tensor cores and loads take at once; with multiples of 8 cuDNN is slower on an H200."""
MANY = 64
"""Channels from which zeros cost less than an uneven number does."""


@contextmanager
def quick_convolutions(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Plain convolutions of ``model`` are quick ones inside; kinds derived from them stay as they are."""
    layers = [layer for layer in model.modules() if type(layer) is nn.Conv2d and is_plain(layer)]
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST_CAPABILITY:
        layers = []
    for layer in layers:
        layer.__class__ = QuickConvolution
    try:
        yield
    finally:
        for layer in layers:
            layer.__class__ = nn.Conv2d


def is_plain(layer: nn.Conv2d) -> bool:
    """Without groups, dilation, or padding by anything but zeros."""
    return layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"


class QuickConvolution(nn.Conv2d):
    """What a layer is for a while; it has the parameters of nn.Conv2d and no others."""

    def forward(self, image: Tensor) -> Tensor:
        if not is_quick(image, self.weight):
            return super().forward(image)
        found = self._without_bias(image)
        return found if self.bias is None else found + self.bias.to(found.dtype).view(1, -1, 1, 1)

    def _without_bias(self, image: Tensor) -> Tensor:
        stride, padding = self.stride, self.padding
        if suits(image, self.weight, stride, padding):
            return narrow_convolution(image, self.weight, stride[0])
        outputs, inputs = (missing_channels(size) for size in self.weight.shape[:2])
        if not (outputs or inputs):
            return conv2d(image, self.weight, None, stride, padding)
        weight = pad(self.weight, (0, 0, 0, 0, 0, inputs, 0, outputs))
        found = conv2d(pad(image, (0, 0, 0, 0, 0, inputs)), weight, None, stride, padding)
        return pad(found, (0, 0, 0, 0, 0, -outputs))


def missing_channels(channels: int) -> int:
    """To an even number, where there are many.

    >>> missing_channels(196), missing_channels(128), missing_channels(3)
    (12, 0, 0)
    """
    return -channels % EVEN if channels > MANY else 0
