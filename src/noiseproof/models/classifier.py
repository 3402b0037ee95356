"""Base class of the networks of this library: a body that computes features, and a linear head."""

from torch import Tensor, nn
from typing_extensions import Unpack

from .input_shape import Images, Values
from .task import Task, count, dropout


class Classifier(nn.Module):
    r"""``forward(x) = head(features(x))``.

    Features:
        :math:`f = \mathrm{dropout}(\mathrm{body}(x))`, the input of the head
    Logits:
        :math:`z = W f + b`, with W and b in ``head``
    Shape:
        images (N, C, H, W); features (N, D); logits (N, num_classes)
    Example:
        >>> import torch
        >>> from noiseproof import models
        >>> model = models.get("resnet20", num_classes=10, seed=0)
        >>> model.features(torch.zeros(2, 3, 32, 32)).shape, model(torch.zeros(2, 3, 32, 32)).shape
        (torch.Size([2, 64]), torch.Size([2, 10]))

    Reference:
        Dropout before the head: Gradient Rescaling, Tables 8-10 (0.2 on ResNet-44)
    """

    def __init__(
        self, body: nn.Module, width: int, input_shape: Images | Values, **task: Unpack[Task]
    ) -> None:
        super().__init__()
        self.input_shape = input_shape
        self.body = body
        share = dropout(task)
        self.dropout = nn.Dropout(share) if share else nn.Identity()
        self.head = nn.Linear(width, count("num_classes", task["num_classes"]))

    def features(self, x: Tensor) -> Tensor:
        self.input_shape.check(x.shape)
        found: Tensor = self.dropout(self.body(x))
        return found

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(x))
        return logits


class GlobalAverage(nn.Module):
    """(N, D, H, W) to (N, D): the mean over the image, of any size."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


def convolution(inputs: int, outputs: int, kernel: int = 3) -> list[nn.Module]:
    """Convolution with bias that keeps the image size, batch norm, ReLU."""
    return [
        nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]
