"""ResNet-18, 34 and 50, with a stem for small images or for ImageNet.

Used by the noise attention paper (ResNet-34 on CIFAR, ResNet-50 on Clothing1M), the curriculum view
(ResNet-34 on CIFAR-100, ResNet-50 on WebVision) and every Clothing1M table (ResNet-50, ImageNet stem).
``stem="cifar"``: 3 x 3 convolution of stride 1 and no pool, as in common CIFAR code;
``stem="imagenet"``: 7 x 7 of stride 2 and a max pool. Below ``body`` layers have torchvision's names,
so that its weights can be loaded (see load_weights). Deviations: a global mean replaces a fixed 4 x 4 pool
(equal at 32 x 32). The noise attention code calls a [2, 2, 2, 2] pre-activation network ResNet-34; this is
the [3, 4, 6, 3] one.
"""

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn
from typing_extensions import Unpack

from .classifier import Classifier, GlobalAverage
from .input_shape import Images
from .residual import BasicBlock, Bottleneck
from .seeding import he_normal
from .task import Task, in_channels

Block = type[BasicBlock] | type[Bottleneck]
WIDTHS = (64, 128, 256, 512)
STEMS = ("cifar", "imagenet")
SHORTCUTS = ("pad", "projection")


def resnet18(*, stem: str = "cifar", **task: Unpack[Task]) -> Classifier:
    """18 layers, 11.2 million parameters.

    Example:
        >>> import torch
        >>> resnet18(num_classes=10, stem="imagenet").features(torch.zeros(1, 3, 64, 64)).shape
        torch.Size([1, 512])

    Reference:
        He et al., Deep Residual Learning for Image Recognition, CVPR 2016, Table 1
    """
    return residual_network(BasicBlock, (2, 2, 2, 2), WIDTHS, stem, "projection", task)


def resnet34(*, stem: str = "cifar", **task: Unpack[Task]) -> Classifier:
    """34 layers, 21.3 million parameters."""
    return residual_network(BasicBlock, (3, 4, 6, 3), WIDTHS, stem, "projection", task)


def resnet50(*, stem: str = "cifar", **task: Unpack[Task]) -> Classifier:
    """50 layers of bottleneck blocks, 23.5 million parameters and features of width 2048."""
    return residual_network(Bottleneck, (3, 4, 6, 3), WIDTHS, stem, "projection", task)


def residual_network(
    block: Block, depths: Sequence[int], widths: Sequence[int], stem: str, shortcut: str, task: Task
) -> Classifier:
    """Stages of ``depths`` blocks at ``widths`` channels; every stage but the first halves the image."""
    if stem not in STEMS:
        raise ValueError(f"stem={stem!r} is unknown, choose one of 'cifar', 'imagenet'")
    if shortcut not in SHORTCUTS:
        raise ValueError(f"shortcut={shortcut!r} is unknown, choose one of 'pad', 'projection'")
    channels, inputs = in_channels(task), widths[0]
    layers = _stem(stem, channels, inputs)
    for stage, (depth, width) in enumerate(zip(depths, widths, strict=True), start=1):
        strides = [1 if stage == 1 else 2] + [1] * (depth - 1)
        blocks: list[nn.Module] = []
        for stride in strides:
            blocks.append(block(inputs, width, stride, shortcut))
            inputs = width * block.expansion
        layers[f"layer{stage}"] = nn.Sequential(*blocks)
    layers["pool"] = GlobalAverage()
    model = Classifier(nn.Sequential(layers), inputs, Images(channels), **task)
    he_normal(model)
    return model


def _stem(kind: str, channels: int, width: int) -> OrderedDict[str, nn.Module]:
    kernel, stride = (7, 2) if kind == "imagenet" else (3, 1)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    layers["conv1"] = nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False)
    layers["bn1"] = nn.BatchNorm2d(width)
    layers["relu"] = nn.ReLU(inplace=True)
    if kind == "imagenet":
        layers["maxpool"] = nn.MaxPool2d(3, 2, padding=1)
    return layers
