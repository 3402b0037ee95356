"""VGG-19 with batch norm.

The code of the noise attention paper trains it on ANIMAL-10N, but does not contain the network. The default
is the common variant for CIFAR: sixteen convolutions with bias, then one linear layer on 512 features.
``vgg19_bn(hidden="4096,4096")`` with dropout 0.5 is the full ImageNet variant. Deviations: features of images
above 32 x 32 are averaged to one feature rather than flattened.

Reference:
    Simonyan & Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, ICLR 2015,
    configuration E
"""

from torch import nn
from typing_extensions import Unpack

from .classifier import Classifier, GlobalAverage, convolution
from .input_shape import Images
from .seeding import he_normal
from .task import Task, dropout, image_size, in_channels, widths

BLOCKS = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))
MIN_SIZE = 2 ** len(BLOCKS)


def vgg19_bn(*, hidden: str | int = "", **task: Unpack[Task]) -> Classifier:
    """Five blocks of 3 x 3 convolutions, each ending in a 2 x 2 pool; images of 32 x 32 or more.

    Example:
        >>> vgg19_bn(num_classes=10).head
        Linear(in_features=512, out_features=10, bias=True)
    """
    inputs = in_channels(task)
    input_shape = Images(inputs, (MIN_SIZE, MIN_SIZE))
    input_shape.check_size(*image_size(task, default=MIN_SIZE))
    layers: list[nn.Module] = []
    for depth, width in BLOCKS:
        for _ in range(depth):
            layers += convolution(inputs, width)
            inputs = width
        layers.append(nn.MaxPool2d(2))
    sizes = widths("hidden", hidden)
    layers += _hidden_layers(inputs, sizes, dropout(task)) if sizes else [GlobalAverage()]
    features = sizes[-1] if sizes else inputs
    model = Classifier(nn.Sequential(*layers), features, input_shape, **task)
    he_normal(model)
    return model


def _hidden_layers(inputs: int, sizes: list[int], share: float) -> list[nn.Module]:
    """Linear layers on a 7 x 7 map, with dropout between them; ``Classifier`` adds that after the last."""
    layers: list[nn.Module] = [nn.AdaptiveAvgPool2d(7), nn.Flatten()]
    flat = inputs * 7 * 7
    for size, following in zip(sizes, [*sizes[1:], 0], strict=True):
        layers += [nn.Linear(flat, size), nn.ReLU(inplace=True)]
        if following and share:
            layers.append(nn.Dropout(share))
        flat = size
    return layers
