"""Multi-layer perceptron for vectors and small images: demonstrations, tables of features, tests.

None of the five papers uses one. Linear layers and ReLU, with torch's default initial weights.
"""

from itertools import pairwise
from math import prod

from torch import nn
from typing_extensions import Unpack

from .classifier import Classifier
from .input_shape import Values
from .task import Task, image_size, in_channels, widths


def mlp(
    *, hidden: str | int = "256,256", norm: bool = False, standardize: bool = False, **task: Unpack[Task]
) -> Classifier:
    """Hidden layers of the given widths; ``hidden=""`` is softmax regression; ``norm`` adds batch norm.

    ``standardize`` scales every input value to mean 0 and deviation 1 over the batch, in evaluation over all
    batches of training: for tables whose columns have different scales.

    A sample has in_channels * height * width values; for vectors omit image_size.

    Example:
        >>> mlp(num_classes=10, in_channels=1, image_size=8, hidden="32").head
        Linear(in_features=32, out_features=10, bias=True)
        >>> mlp(num_classes=3, in_channels=4, hidden="").head
        Linear(in_features=4, out_features=3, bias=True)
    """
    values = in_channels(task) * prod(image_size(task, default=1))
    sizes = [values, *widths("hidden", hidden)]
    layers: list[nn.Module] = [nn.Flatten()]
    if standardize:
        layers.append(nn.BatchNorm1d(values, momentum=None, affine=False))
    for inputs, outputs in pairwise(sizes):
        layers += [
            nn.Linear(inputs, outputs),
            *([nn.BatchNorm1d(outputs)] if norm else []),
            nn.ReLU(inplace=True),
        ]
    return Classifier(nn.Sequential(*layers), sizes[-1], Values(values), **task)
