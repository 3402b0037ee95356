"""Mean absolute error and reverse cross entropy: linear in p, hence robust to symmetric noise."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss


def mae_value(margin: Tensor) -> Tensor:
    return 2 * torch.sigmoid(-margin)


def mae_emphasis(margin: Tensor) -> Tensor:
    return 2 * torch.sigmoid(margin) * torch.sigmoid(-margin)


class MAE(MarginLoss):
    r"""Mean absolute error between softmax and one-hot label.

    Loss:
        :math:`\sum_k |p_k - 1[k=y]| = 2(1-p)`
    Emphasis:
        :math:`2p(1-p)`, largest at p = 1/2: small at initialisation with many classes,
        see :class:`~noiseproof.losses.Scale`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> MAE()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(1.5000)

    Reference:
        Ghosh et al., Robust Loss Functions under Label Noise for Deep Neural Networks, AAAI 2017
    """

    name = "mae"

    def value(self, margin: Tensor) -> Tensor:
        return mae_value(margin)

    def emphasis(self, margin: Tensor) -> Tensor:
        return mae_emphasis(margin)


class RCE(MarginLoss):
    r"""Reverse cross entropy: cross entropy with label and prediction swapped, and log 0 defined as A.

    Loss:
        :math:`-A(1-p)`
    Emphasis:
        :math:`-A\,p(1-p)`
    Limits:
        A < 0; A = -2 is :class:`MAE`. The authors' code clips at 1e-4, which is A = -9.21.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> round(float(RCE(A=-4.0)(torch.zeros(1, 4), torch.tensor([0]))), 4)
        3.0

    Reference:
        Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019
    """

    name = "rce"

    def __init__(self, *, A: float = -4.0, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.A = number(self.name, "A", A, "A < 0", lambda a: a < 0)

    def value(self, margin: Tensor) -> Tensor:
        return -self.A / 2 * mae_value(margin)

    def emphasis(self, margin: Tensor) -> Tensor:
        return -self.A / 2 * mae_emphasis(margin)
