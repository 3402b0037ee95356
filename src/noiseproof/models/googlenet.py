"""GoogLeNet (Inception v1) with batch norm, for CIFAR.

Used by Gradient Rescaling on CIFAR-10 in MentorNet's setting (Table 4). This is the common variant for
CIFAR: a single 3 x 3 convolution of 192 channels as the stem, the nine inception blocks of the paper with
batch norm, two 3 x 3 convolutions in place of the 5 x 5, no auxiliary heads; 6.17 million parameters.
Deviations: a global mean replaces the 8 x 8 pool (equal at 32 x 32); MentorNet's own network is in
TensorFlow and differs in its stem.

Reference:
    Szegedy et al., Going Deeper with Convolutions, CVPR 2015, Table 1
"""

import torch
from torch import Tensor, nn
from typing_extensions import Unpack

from .classifier import Classifier, GlobalAverage, convolution
from .input_shape import Images
from .task import Task, in_channels

STAGES = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)
"""Channels of each block: 1x1; reduce, 3x3; reduce, 5x5; after the pool."""


class Inception(nn.Module):
    """Four parallel branches: 1 x 1, 3 x 3, 5 x 5 (as two 3 x 3) and pooled."""

    def __init__(
        self, inputs: int, one: int, less3: int, three: int, less5: int, five: int, pool: int
    ) -> None:
        super().__init__()
        self.one = nn.Sequential(*convolution(inputs, one, 1))
        self.three = nn.Sequential(*convolution(inputs, less3, 1), *convolution(less3, three))
        self.five = nn.Sequential(
            *convolution(inputs, less5, 1), *convolution(less5, five), *convolution(five, five)
        )
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, padding=1), *convolution(inputs, pool, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


def googlenet(**task: Unpack[Task]) -> Classifier:
    """Nine inception blocks; features of width 1024.

    Example:
        >>> googlenet(num_classes=10).features(torch.zeros(1, 3, 8, 8)).shape
        torch.Size([1, 1024])
    """
    channels, inputs = in_channels(task), 192
    layers: list[nn.Module] = convolution(channels, inputs)
    for stage, blocks in enumerate(STAGES):
        if stage > 0:
            layers.append(nn.MaxPool2d(3, 2, padding=1))
        for one, less3, three, less5, five, pool in blocks:
            layers.append(Inception(inputs, one, less3, three, less5, five, pool))
            inputs = one + three + five + pool
    return Classifier(nn.Sequential(*layers, GlobalAverage()), inputs, Images(channels), **task)
