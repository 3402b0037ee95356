"""Generalised cross entropy, between cross entropy and mean absolute error."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss

TINY_Q = 1e-12
"""Below it GCE equals cross entropy in double precision, and its terms underflow in float32."""


def gce_value(margin: Tensor, *, q: float) -> Tensor:
    log_p = logsigmoid(margin)
    return -log_p if q < TINY_Q else -torch.expm1(q * log_p) / q


def gce_emphasis(margin: Tensor, *, q: float) -> Tensor:
    return torch.exp(q * logsigmoid(margin)) * torch.sigmoid(-margin)


class GCE(MarginLoss):
    r"""Generalised cross entropy.

    Loss:
        :math:`(1-p^q)/q`
    Emphasis:
        :math:`p^q(1-p)`, largest at :math:`q/(1+q)`
    Limits:
        :math:`0 < q \le 1`; :math:`q\to 0` is CE, q = 1 half of MAE
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> GCE(q=0.7)(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.8872)

    Reference:
        Zhang & Sabuncu, Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy
        Labels, NeurIPS 2018
    """

    name = "gce"

    def __init__(self, *, q: float = 0.7, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.q = number(self.name, "q", q, "0 < q <= 1", lambda q: 0 < q <= 1)

    def value(self, margin: Tensor) -> Tensor:
        return gce_value(margin, q=self.q)

    def emphasis(self, margin: Tensor) -> Tensor:
        return gce_emphasis(margin, q=self.q)


class TruncatedGCE(MarginLoss):
    r"""Generalised cross entropy without a gradient for labels of low probability.

    Loss:
        :math:`(1-p^q)/q` if :math:`p > k`, else the constant :math:`(1-k^q)/q`
    Emphasis:
        :math:`p^q(1-p)\,1[p>k]`
    Limits:
        :math:`0 < q \le 1`, :math:`0 \le k < 1`; k = 0 is GCE. Samples with p <= k at initialisation
        are never learned, so the paper trains with GCE first: see the method ``truncated_gce``.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> TruncatedGCE().emphasis(torch.tensor([-1.0, 1.0]))
        tensor([0.0000, 0.2160])

    Reference:
        Zhang & Sabuncu, NeurIPS 2018; Gradient Rescaling, Eq. 5
    """

    name = "truncated_gce"

    def __init__(self, *, q: float = 0.7, k: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.q = number(self.name, "q", q, "0 < q <= 1", lambda q: 0 < q <= 1)
        self.k = number(self.name, "k", k, "0 <= k < 1", lambda k: 0 <= k < 1)

    @property
    def threshold(self) -> float:
        """The margin where p is k."""
        return math.log(self.k) - math.log1p(-self.k) if self.k > 0 else -math.inf

    def value(self, margin: Tensor) -> Tensor:
        constant = -math.expm1(self.q * math.log(self.k)) / self.q if self.k > 0 else 1 / self.q
        return torch.where(margin > self.threshold, gce_value(margin, q=self.q), constant)

    def emphasis(self, margin: Tensor) -> Tensor:
        return torch.where(margin > self.threshold, gce_emphasis(margin, q=self.q), 0.0)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.threshold,)
