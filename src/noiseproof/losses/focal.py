"""Focal loss: cross entropy with smaller weights for fitted samples; not robust to label noise."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss


def focal_value(margin: Tensor, *, gamma: float) -> Tensor:
    return -torch.exp(gamma * logsigmoid(-margin)) * logsigmoid(margin)


def focal_emphasis(margin: Tensor, *, gamma: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    focus = torch.exp(gamma * logsigmoid(-margin))
    return focus * (rest - gamma * p * logsigmoid(margin))


class Focal(MarginLoss):
    r"""Focal loss.

    Loss:
        :math:`-(1-p)^\gamma\log p`
    Emphasis:
        :math:`(1-p)^\gamma\,(1-p-\gamma p\log p)`
    Limits:
        :math:`\gamma \ge 0`; :math:`\gamma = 0` is cross entropy
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> Focal(gamma=2.0)(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([0]))
        tensor(0.0109)

    Reference:
        Lin et al., Focal Loss for Dense Object Detection, ICCV 2017
    """

    name = "focal"

    def __init__(self, *, gamma: float = 2.0, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.gamma = number(self.name, "gamma", gamma, "gamma >= 0", lambda g: g >= 0)

    def value(self, margin: Tensor) -> Tensor:
        return focal_value(margin, gamma=self.gamma)

    def emphasis(self, margin: Tensor) -> Tensor:
        return focal_emphasis(margin, gamma=self.gamma)
