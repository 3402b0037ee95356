"""Asymmetric losses: robust if the true class is the most frequent label of its samples."""

import math

import torch
from torch import Tensor
from typing_extensions import Unpack

from .base import Outer
from .checks import number
from .margin_loss import MarginLoss

MAX_VALUE = 1e35
"""Upper bound of the value of a loss; the largest float32 is 3e38."""


def power(loss: str, q: float, name: str, base: float) -> float:
    """``q`` as an exponent of ``base`` that float32 can hold.

    >>> power("agce", 70.0, "a + 1", 4.0)
    Traceback (most recent call last):
    ValueError: agce: q=70.0 is out of range, it must satisfy q > 0 and (a + 1)^q <= 1e+35, here q <= 58.1
    """
    most = math.log(MAX_VALUE) / math.log(base) if base > 1 else math.inf
    rule = f"q > 0 and ({name})^q <= {MAX_VALUE:g}, here q <= {most:.3g}"
    return number(loss, "q", q, rule, lambda q: 0 < q <= most)


def aul_value(margin: Tensor, *, a: float, q: float) -> Tensor:
    rest = torch.sigmoid(-margin)
    share = torch.expm1(-q * torch.log1p(rest / (a - 1)))
    return share * (rest + (a - 1)).pow(q) / -q


def aul_emphasis(margin: Tensor, *, a: float, q: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    return p * rest * (a - 1 + rest) ** (q - 1)


def agce_value(margin: Tensor, *, a: float, q: float) -> Tensor:
    rest = torch.sigmoid(-margin)
    return torch.expm1(q * torch.log1p(-rest / (a + 1))) * float((a + 1) ** q / -q)


def agce_emphasis(margin: Tensor, *, a: float, q: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    return p * rest * (a + p) ** (q - 1)


def ael_value(margin: Tensor, *, q: float) -> Tensor:
    return torch.exp(-torch.sigmoid(margin) / q)


def ael_emphasis(margin: Tensor, *, q: float) -> Tensor:
    p, rest = torch.sigmoid(margin), torch.sigmoid(-margin)
    return p * rest * torch.exp(-p / q) / q


class AUL(MarginLoss):
    r"""Asymmetric unhinged loss.

    Loss:
        :math:`[(a-p)^q-(a-1)^q]/q`
    Emphasis:
        :math:`p(1-p)(a-p)^{q-1}`
    Limits:
        a > 1, q > 0; q = 1 is half of MAE. Asymmetry ratio 1 for :math:`q\le 1`, else
        :math:`((a-1)/a)^{q-1}`.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> AUL(a=2.0, q=2.0)(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.6250)

    Reference:
        Zhou et al., Asymmetric Loss Functions for Learning with Noisy Labels, ICML 2021
    """

    name = "aul"

    def __init__(self, *, a: float = 1.1, q: float = 5.0, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.a = number(self.name, "a", a, "a > 1", lambda a: a > 1)
        self.q = power(self.name, q, "a", self.a)

    def value(self, margin: Tensor) -> Tensor:
        return aul_value(margin, a=self.a, q=self.q)

    def emphasis(self, margin: Tensor) -> Tensor:
        return aul_emphasis(margin, a=self.a, q=self.q)


class AGCE(MarginLoss):
    r"""Asymmetric generalised cross entropy.

    Loss:
        :math:`[(a+1)^q-(a+p)^q]/q`
    Emphasis:
        :math:`p(1-p)(a+p)^{q-1}`
    Limits:
        a > 0, q > 0; :math:`a\to 0` is GCE, q = 1 half of MAE. Asymmetry ratio 1 for q > 1, else
        :math:`(a/(a+1))^{1-q}`.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> AGCE(a=1.0, q=2.0)(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.8750)

    Reference:
        Zhou et al., ICML 2021
    """

    name = "agce"

    def __init__(self, *, a: float = 0.1, q: float = 0.1, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.a = number(self.name, "a", a, "a > 0", lambda a: a > 0)
        self.q = power(self.name, q, "a + 1", self.a + 1)

    def value(self, margin: Tensor) -> Tensor:
        return agce_value(margin, a=self.a, q=self.q)

    def emphasis(self, margin: Tensor) -> Tensor:
        return agce_emphasis(margin, a=self.a, q=self.q)


class AEL(MarginLoss):
    r"""Asymmetric exponential loss.

    Loss:
        :math:`e^{-p/q}`
    Emphasis:
        :math:`p(1-p)e^{-p/q}/q`
    Limits:
        :math:`q\ge 0.02`; q times this tends to half of MAE as q grows. Asymmetry ratio :math:`e^{-1/q}`.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> AEL(q=2.5)(torch.zeros(1, 2), torch.tensor([0]))
        tensor(0.8187)

    Reference:
        Zhou et al., ICML 2021
    """

    name = "ael"

    def __init__(self, *, q: float = 2.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.q = number(self.name, "q", q, "q >= 0.02", lambda q: q >= 0.02)

    def value(self, margin: Tensor) -> Tensor:
        return ael_value(margin, q=self.q)

    def emphasis(self, margin: Tensor) -> Tensor:
        return ael_emphasis(margin, q=self.q)
