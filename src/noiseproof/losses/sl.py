"""Symmetric cross entropy: a weighted sum of cross entropy and reverse cross entropy."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss


def mixture_value(margin: Tensor, *, log_part: float, linear_part: float) -> Tensor:
    r""":math:`-a\log p + b(1-p)`."""
    return linear_part * torch.sigmoid(-margin) - log_part * logsigmoid(margin)


def mixture_emphasis(margin: Tensor, *, log_part: float, linear_part: float) -> Tensor:
    r""":math:`(1-p)(a + b p)`."""
    return torch.sigmoid(-margin) * (log_part + linear_part * torch.sigmoid(margin))


class SL(MarginLoss):
    r"""Symmetric learning: alpha CE + beta RCE(A).

    Loss:
        :math:`-\alpha\log p - \beta A(1-p)`
    Emphasis:
        :math:`(1-p)(\alpha - \beta A p)`
    Limits:
        :math:`\alpha,\beta > 0`, A < 0. A small alpha reduces overfitting, beta sets robustness, A only
        rescales beta; ``A=-9.21`` is what the authors' code computes.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> SL(alpha=0.1, beta=1.0)(torch.zeros(1, 4), torch.tensor([0]))
        tensor(3.1386)

    Reference:
        Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019
    """

    name = "sl"

    def __init__(
        self, *, alpha: float = 0.1, beta: float = 1.0, A: float = -4.0, **outer: Unpack[Outer]
    ) -> None:
        super().__init__(**outer)
        self.alpha = number(self.name, "alpha", alpha, "alpha > 0", lambda a: a > 0)
        self.beta = number(self.name, "beta", beta, "beta > 0", lambda b: b > 0)
        self.A = number(self.name, "A", A, "A < 0", lambda a: a < 0)

    def value(self, margin: Tensor) -> Tensor:
        return mixture_value(margin, log_part=self.alpha, linear_part=-self.beta * self.A)

    def emphasis(self, margin: Tensor) -> Tensor:
        return mixture_emphasis(margin, log_part=self.alpha, linear_part=-self.beta * self.A)


class SCE(MarginLoss):
    r"""Mixture of cross entropy and MAE with one parameter.

    Loss:
        :math:`-(1-q)\log p + q(1-p)`
    Emphasis:
        :math:`(1-q+qp)(1-p)`
    Limits:
        :math:`0 \le q \le 1`; q = 0 is CE, q = 1 half of MAE. SL is
        :math:`(\alpha-\beta A)` times this with :math:`q = -\beta A/(\alpha-\beta A)`.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> SCE(q=0.5)(torch.zeros(1, 4), torch.tensor([0]))
        tensor(1.0681)

    Reference:
        A Curriculum View of Robust Loss Functions, Table 1
    """

    name = "sce"

    def __init__(self, *, q: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.q = number(self.name, "q", q, "0 <= q <= 1", lambda q: 0 <= q <= 1)

    def value(self, margin: Tensor) -> Tensor:
        return mixture_value(margin, log_part=1 - self.q, linear_part=self.q)

    def emphasis(self, margin: Tensor) -> Tensor:
        return mixture_emphasis(margin, log_part=1 - self.q, linear_part=self.q)
