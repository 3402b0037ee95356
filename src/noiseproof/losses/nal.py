"""Noise attention with a fixed attention: cross entropy of the prediction mixed with the label."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss


def nal_fixed_value(margin: Tensor, *, tau: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    fitted = -torch.log1p(-tau * rest)
    unfitted = -torch.log(1 - tau + tau * p)
    return torch.where(margin > 0, fitted, unfitted)


def nal_fixed_emphasis(margin: Tensor, *, tau: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    return tau * p * rest / (1 - tau + tau * p)


class NALFixed(MarginLoss):
    r"""Noise attention learning when the attention is one number for all samples.

    Loss:
        :math:`-\log(\tau p+1-\tau)`
    Emphasis:
        :math:`\varphi(1-p)` with :math:`\varphi = p/(p-1+1/\tau)` in :math:`(0, \tau)`
    Limits:
        :math:`0<\tau<1`; :math:`\tau\to 1` is CE
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> NALFixed(tau=0.5)(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.2877)

    Reference:
        Lu et al., Noise Attention Learning: Enhancing Noise Robustness by Gradient Scaling, NeurIPS 2022
    """

    name = "nal_fixed"

    def __init__(self, *, tau: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.tau = number(self.name, "tau", tau, "0 < tau < 1", lambda t: 0 < t < 1)

    def value(self, margin: Tensor) -> Tensor:
        return nal_fixed_value(margin, tau=self.tau)

    def emphasis(self, margin: Tensor) -> Tensor:
        return nal_fixed_emphasis(margin, tau=self.tau)
