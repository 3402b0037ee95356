"""The 4-layer CNN for MNIST and the 8-layer CNN for CIFAR-10.

Used by Symmetric Cross Entropy (Tables 1-2) and the curriculum view of robust losses (MNIST and
CIFAR-10 experiments). The papers give no widths; these are from the public code that Symmetric Cross
Entropy, Normalized Loss Functions and Asymmetric Loss Functions share: convolutions with bias,
a flattened last map rather than a pooled one, and a batch-normalised hidden layer.
Deviations: none for 28 x 28 (cnn4) and 32 x 32 images (cnn8); other sizes change the first linear layer.
"""

from torch import nn
from typing_extensions import Unpack

from .classifier import Classifier, convolution
from .input_shape import Images
from .seeding import he_uniform
from .task import Task, image_size, in_channels


def cnn4(**task: Unpack[Task]) -> Classifier:
    """Convolutions of 32 and 64 channels, each followed by a 2 x 2 pool; hidden layer of 128.

    Example:
        >>> import torch
        >>> cnn4(num_classes=10, in_channels=1).features(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 128])
    """
    return _flattened([[32], [64]], 128, 28, task)


def cnn8(**task: Unpack[Task]) -> Classifier:
    """Two convolutions each of 64, 128 and 196 channels, a 2 x 2 pool after each pair; hidden layer of 256.

    Example:
        >>> import torch
        >>> cnn8(num_classes=10).features(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 256])
    """
    return _flattened([[64, 64], [128, 128], [196, 196]], 256, 32, task)


def _flattened(blocks: list[list[int]], hidden: int, usual_size: int, task: Task) -> Classifier:
    inputs = in_channels(task)
    input_shape = Images(inputs, image_size(task, default=usual_size), exact=True)
    height, width = (side // 2 ** len(blocks) for side in input_shape.size)
    if not (height and width):
        raise ValueError(
            f"image_size={input_shape.size} is too small: the pools need {2 ** len(blocks)} or more"
        )
    layers: list[nn.Module] = []
    for block in blocks:
        for outputs in block:
            layers += convolution(inputs, outputs)
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    flat = nn.Linear(inputs * height * width, hidden)
    layers += [nn.Flatten(), flat, nn.BatchNorm1d(hidden), nn.ReLU(inplace=True)]
    model = Classifier(nn.Sequential(*layers), hidden, input_shape, **task)
    he_uniform(model)
    return model
