"""Taylor cross entropy: the first terms of the series of -log p around p = 1."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from .base import Outer
from .checks import whole
from .margin_loss import MarginLoss


def tce_value(margin: Tensor, *, order: int) -> Tensor:
    rest = torch.sigmoid(-margin)
    total = torch.full_like(rest, 1 / order)
    for i in range(order - 1, 0, -1):
        total = total * rest + 1 / i
    return total * rest


def tce_emphasis(margin: Tensor, *, order: int) -> Tensor:
    return -torch.sigmoid(-margin) * torch.expm1(order * logsigmoid(-margin))


class TCE(MarginLoss):
    r"""Taylor cross entropy.

    Loss:
        :math:`\sum_{i=1}^{order}(1-p)^i/i`
    Emphasis:
        :math:`p\sum_{i=1}^{order}(1-p)^i = (1-p)\,(1-(1-p)^{order})`
    Limits:
        integer order from 1 (half of MAE) to 1000; CE as the order grows; order 2 is AUL(a=2, q=2)
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> TCE(order=2)(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.6250)

    Reference:
        Feng et al., Can Cross Entropy Loss Be Robust to Label Noise?, IJCAI 2020
    """

    name = "tce"

    def __init__(self, *, order: int = 2, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.order = whole(self.name, "order", order, 1, 1000)

    def value(self, margin: Tensor) -> Tensor:
        return tce_value(margin, order=self.order)

    def emphasis(self, margin: Tensor) -> Tensor:
        return tce_emphasis(margin, order=self.order)
