"""GoogLeNet V2 (BN-Inception) and Inception-ResNet-V2, for photos.

Used by Gradient Rescaling and IMAE on MARS (GoogLeNet V2) and by the noise attention paper on WebVision
(Inception-ResNet-V2). Below ``body`` layers have the names of published weights: those of the Caffe port for
BN-Inception (whose pretrained weights need BGR images in 0 ... 255 minus their mean), those of timm for
Inception-ResNet-V2. With 1,000 classes they have 11,295,240 and 55,843,464 parameters, as published.
Deviations: a global mean replaces the last pool; BN-Inception pads odd sizes, where the port fails.
"""

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d, pad, relu
from typing_extensions import Unpack

from .classifier import Classifier, GlobalAverage
from .input_shape import Images
from .task import Task, in_channels

BLOCKS = {
    "3a": (64, 64, 64, 64, 96, 32),
    "3b": (64, 64, 96, 64, 96, 64),
    "3c": (0, 128, 160, 64, 96, 0),
    "4a": (224, 64, 96, 96, 128, 128),
    "4b": (192, 96, 128, 96, 128, 128),
    "4c": (160, 128, 160, 128, 160, 128),
    "4d": (96, 128, 192, 160, 192, 128),
    "4e": (0, 128, 192, 192, 256, 0),
    "5a": (352, 192, 320, 160, 224, 128),
    "5b": (352, 192, 320, 192, 224, 128),
}
"""Channels of 1x1; reduce, 3x3; reduce, double 3x3; after the pool. Those without 1x1 halve the image."""


def googlenet_v2(**task: Unpack[Task]) -> Classifier:
    """Ten inception blocks with batch norm; features of width 1024.

    Example:
        >>> googlenet_v2(num_classes=10).features(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 1024])

    Reference:
        Ioffe & Szegedy, Batch Normalization, ICML 2015, appendix
    """
    channels = in_channels(task)
    return Classifier(_BNInception(channels), 1024, Images(channels), **task)


class _BNInception(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self._add("conv1_7x7_s2", channels, 64, 7, 2)
        self._add("conv2_3x3_reduce", 64, 64)
        self._add("conv2_3x3", 64, 192, 3)
        inputs = 192
        for block, (one, less, three, least, double, pooled) in BLOCKS.items():
            name, stride = f"inception_{block}", 1 if one else 2
            if one:
                self._add(f"{name}_1x1", inputs, one)
                self._add(f"{name}_pool_proj", inputs, pooled)
            self._add(f"{name}_3x3_reduce", inputs, less)
            self._add(f"{name}_3x3", less, three, 3, stride)
            self._add(f"{name}_double_3x3_reduce", inputs, least)
            self._add(f"{name}_double_3x3_1", least, double, 3)
            self._add(f"{name}_double_3x3_2", double, double, 3, stride)
            inputs = one + three + double + (pooled or inputs)

    def _add(self, name: str, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> None:
        self.add_module(name, nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2))
        self.add_module(f"{name}_bn", nn.BatchNorm2d(outputs))

    def _run(self, x: Tensor, *names: str) -> Tensor:
        for name in names:
            x = relu(getattr(self, f"{name}_bn")(getattr(self, name)(x)))
        return x

    def forward(self, x: Tensor) -> Tensor:
        x = _halved(self._run(x, "conv1_7x7_s2"))
        x = _halved(self._run(x, "conv2_3x3_reduce", "conv2_3x3"))
        for block, (one, *_) in BLOCKS.items():
            name = f"inception_{block}"
            three = self._run(x, f"{name}_3x3_reduce", f"{name}_3x3")
            double = (f"{name}_double_3x3_{part}" for part in ("reduce", "1", "2"))
            found = [three, self._run(x, *double)]
            if one:
                pooled = max_pool2d(x, 3, 1, 1) if block == "5b" else avg_pool2d(x, 3, 1, 1)
                found = [self._run(x, f"{name}_1x1"), *found, self._run(pooled, f"{name}_pool_proj")]
            else:
                found.append(_halved(x))
            x = torch.cat(found, 1)
        return x.mean((2, 3))


def _halved(x: Tensor) -> Tensor:
    """Max pool of 3 x 3 and stride 2 to half the size, rounded up."""
    x = pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2), value=-torch.inf)
    return max_pool2d(x, 3, 2, ceil_mode=True)


def inception_resnet_v2(**task: Unpack[Task]) -> Classifier:
    """40 residual inception blocks, images of at least 75 x 75; features of width 1536.

    Example:
        >>> with torch.device("meta"):  # to avoid allocating 223 MB
        ...     inception_resnet_v2(num_classes=10).head
        Linear(in_features=1536, out_features=10, bias=True)

    Reference:
        Szegedy et al., Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning,
        AAAI 2017
    """
    channels = in_channels(task)
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv2d_1a=_conv(channels, 32, 3, 2),
        conv2d_2a=_conv(32, 32, 3),
        conv2d_2b=_conv(32, 64, 3, same=True),
        maxpool_3a=nn.MaxPool2d(3, 2),
        conv2d_3b=_conv(64, 80),
        conv2d_4a=_conv(80, 192, 3),
        maxpool_5a=nn.MaxPool2d(3, 2),
        mixed_5b=_first_mixed(),
        repeat=nn.Sequential(*(_block35() for _ in range(10))),
        mixed_6a=_Mixed(_conv(320, 384, 3, 2), _path(320, 256, 256, 384), nn.MaxPool2d(3, 2)),
        repeat_1=nn.Sequential(*(_block17() for _ in range(20))),
        mixed_7a=_last_mixed(),
        repeat_2=nn.Sequential(*(_block8(0.2) for _ in range(9))),
        block8=_block8(None),
        conv2d_7b=_conv(2080, 1536),
        pool=GlobalAverage(),
    )
    return Classifier(nn.Sequential(layers), 1536, Images(channels, (75, 75)), **task)


def _conv(
    inputs: int, outputs: int, kernel: int | tuple[int, int] = 1, stride: int = 1, *, same: bool = False
) -> nn.Sequential:
    """Convolution without bias, batch norm, ReLU; ``same`` keeps the image size."""
    high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = (high // 2, wide // 2) if same else (0, 0)
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(inputs, outputs, (high, wide), stride, padding, bias=False),
        bn=nn.BatchNorm2d(outputs, eps=0.001),
        act=nn.ReLU(inplace=True),
    )
    return nn.Sequential(layers)


def _path(inputs: int, less: int, middle: int, outputs: int) -> nn.Sequential:
    """1 x 1, 3 x 3, and a 3 x 3 that halves the image."""
    return nn.Sequential(_conv(inputs, less), _conv(less, middle, 3, same=True), _conv(middle, outputs, 3, 2))


class _Mixed(nn.Module):
    """Parallel branches, whose outputs are concatenated."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.number = len(branches)
        for place, branch in enumerate(branches):
            self.add_module(f"branch{place}", branch)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([getattr(self, f"branch{place}")(x) for place in range(self.number)], 1)


class _Residual(_Mixed):
    """x + scale times a convolution of the branches, then ReLU; without a scale neither scaling nor ReLU."""

    def __init__(self, width: int, inner: int, scale: float | None, *branches: nn.Module) -> None:
        super().__init__(*branches)
        self.conv2d = nn.Conv2d(inner, width, 1)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        change: Tensor = self.conv2d(super().forward(x))
        return x + change if self.scale is None else relu(x + self.scale * change)


def _first_mixed() -> _Mixed:
    pooled = nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), _conv(192, 64))
    five = nn.Sequential(_conv(192, 48), _conv(48, 64, 5, same=True))
    three = nn.Sequential(_conv(192, 64), _conv(64, 96, 3, same=True), _conv(96, 96, 3, same=True))
    return _Mixed(_conv(192, 96), five, three, pooled)


def _last_mixed() -> _Mixed:
    first, second = (nn.Sequential(_conv(1088, 256), _conv(256, width, 3, 2)) for width in (384, 288))
    return _Mixed(first, second, _path(1088, 256, 288, 320), nn.MaxPool2d(3, 2))


def _block35() -> _Residual:
    one = nn.Sequential(_conv(320, 32), _conv(32, 32, 3, same=True))
    two = nn.Sequential(_conv(320, 32), _conv(32, 48, 3, same=True), _conv(48, 64, 3, same=True))
    return _Residual(320, 128, 0.17, _conv(320, 32), one, two)


def _block17() -> _Residual:
    long = (_conv(1088, 128), _conv(128, 160, (1, 7), same=True), _conv(160, 192, (7, 1), same=True))
    return _Residual(1088, 384, 0.1, _conv(1088, 192), nn.Sequential(*long))


def _block8(scale: float | None) -> _Residual:
    long = (_conv(2080, 192), _conv(192, 224, (1, 3), same=True), _conv(224, 256, (3, 1), same=True))
    return _Residual(2080, 448, scale, _conv(2080, 192), nn.Sequential(*long))
