"""Residual networks of He et al. for CIFAR: 6n+2 layers of 16, 32 and 64 channels.

Used by Gradient Rescaling (ResNet-20, 44, 56), IMAE (ResNet-20, 44, 56) and Symmetric Cross Entropy
(ResNet-44). Shortcuts are option A of the paper, strided identity padded with zero channels;
``shortcut="projection"`` uses a 1 x 1 convolution instead. Deviations: the code of Symmetric Cross Entropy
is a pre-activation variant with convolution biases and projections; a global mean replaces the 8 x 8 pool
(equal at 32 x 32).

Reference:
    He et al., Deep Residual Learning for Image Recognition, CVPR 2016, section 4.2
"""

from typing_extensions import Unpack

from .classifier import Classifier
from .residual import BasicBlock
from .resnet import residual_network
from .task import Task

WIDTHS = (16, 32, 64)


def resnet20(*, shortcut: str = "pad", **task: Unpack[Task]) -> Classifier:
    """20 layers, 0.27 million parameters.

    Example:
        >>> sum(p.numel() for p in resnet20(num_classes=10).parameters())
        269722
    """
    return _thin(3, shortcut, task)


def resnet32(*, shortcut: str = "pad", **task: Unpack[Task]) -> Classifier:
    """32 layers, 0.46 million parameters."""
    return _thin(5, shortcut, task)


def resnet44(*, shortcut: str = "pad", **task: Unpack[Task]) -> Classifier:
    """44 layers, 0.66 million parameters."""
    return _thin(7, shortcut, task)


def resnet56(*, shortcut: str = "pad", **task: Unpack[Task]) -> Classifier:
    """56 layers, 0.85 million parameters."""
    return _thin(9, shortcut, task)


def _thin(n: int, shortcut: str, task: Task) -> Classifier:
    return residual_network(BasicBlock, (n, n, n), WIDTHS, "cifar", shortcut, task)
