r"""Gradient rescaling: the emphasis is chosen, and the loss value is its integral."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from ..kernels import Mass, RowFunction, batch_mean, of_margin
from .base import Outer
from .checks import choice, number
from .curves.numerics import IntegralTable, Peak
from .margin_loss import MarginLoss

FLOAT32_SATURATION = 17.33
"""Margin from which a float32 sigmoid rounds to 1."""
MAX_EXPONENT = 80.0


def gr_exponent(margin: Tensor, *, beta: float, lam: float) -> Tensor:
    r""":math:`\beta p^\lambda(1-p)`."""
    return beta * torch.exp(torch.add(logsigmoid(-margin), logsigmoid(margin), alpha=lam))


def gr_identity_value(margin: Tensor, *, beta: float, lam: float) -> Tensor:
    r""":math:`\frac12\int_\Delta^\infty \beta p^\lambda(1-p)`: CE, GCE or MAE up to a factor."""
    log_p = logsigmoid(margin)
    return -beta / 2 * (torch.expm1(lam * log_p) / lam if lam > 0 else log_p)


class GR(MarginLoss):
    r"""Gradient rescaling: the L1 norm of the logit gradient is :math:`g(\beta p^\lambda(1-p))`.

    Loss:
        :math:`\int_\Delta^{saturation}` of the emphasis. With ``saturation=None`` the integral to infinity
        where it converges (g = identity: exactly CE, GCE, MAE), else the signed :math:`-\int_0^\Delta`.
    Emphasis:
        :math:`\frac12 g(\beta p^\lambda(1-p))`, 0 beyond ``saturation``; largest at
        :math:`p = \lambda/(1+\lambda)`
    Normalisation:
        With ``normalize="batch"``, default for g = "exp", values and emphases of a batch are divided by the
        mean of twice the emphasis over its samples, as in the authors' code, so that steps are as large as
        those of other losses. ``value``, ``emphasis``, ``peak`` and ``curve`` are those before this division;
        it has no meaning without a batch. ``unit_max(gr)`` divides by the largest emphasis, not the mean.
        ``normalize="none"``, default for g = "identity", does not divide: (12, 0.5) has weights up to 101.
    Limits:
        :math:`\beta,\lambda\ge 0`; g = "exp" or "identity". Without a saturation a perfectly fitted sample
        keeps weight 1 and training collapses: by default the emphasis ends at 17.33 (g = "exp").
    Settings:
        (12, 0.5), normalised over the batch or with ``unit_max``, trained ResNets on CIFAR-10 at 40% noise
        and a rate of 0.1 every time; (16, 1) and (20, 2) left classes unlearned. Not normalised, (12, 0.5)
        ended at 34% (ResNet-20) and 10% (ResNet-56), and was better than both on digits with a small network
        that has batch norm. The runs: tables/gr_defaults/README.md, tables/gr.md.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> GR(beta=16.0, lam=1.0).emphasis(torch.tensor([-20.0, 0.0, 20.0]))
        tensor([ 0.5000, 27.2991,  0.0000])
        >>> logits = torch.tensor([[1.0, 0.0], [-2.0, 0.0]], requires_grad=True)
        >>> GR(beta=16.0, lam=1.0)(logits, torch.tensor([0, 0])).backward()
        >>> logits.grad.abs().sum()
        tensor(1.)

    Reference:
        Robust Discriminative Representation Learning via Gradient Rescaling: An Emphasis
        Regularisation Perspective
    """

    name = "gr"
    steepness = "beta"

    def __init__(
        self,
        *,
        beta: float = 8.0,
        lam: float = 0.5,
        g: str = "exp",
        saturation: float | Literal["default"] | None = "default",
        normalize: str = "default",
        **outer: Unpack[Outer],
    ) -> None:
        super().__init__(**outer)
        self.beta = number(self.name, "beta", beta, "beta >= 0", lambda b: b >= 0)
        self.lam = number(self.name, "lam", lam, "lam >= 0", lambda x: x >= 0)
        self.g = choice(self.name, "g", g, ("exp", "identity"))
        normalize = ("batch" if g == "exp" else "none") if normalize == "default" else normalize
        self.normalize = choice(self.name, "normalize", normalize, ("none", "batch"))
        if saturation == "default":
            saturation = FLOAT32_SATURATION if g == "exp" else None
        if saturation is not None:
            saturation = number(self.name, "saturation", saturation, "saturation > 0", lambda s: s > 0)
        self.saturation = saturation
        self._check_overflow()
        self._integral = self._table() if self.g == "exp" else None

    def value(self, margin: Tensor) -> Tensor:
        if self._integral is not None:
            return self._integral(margin)
        value = gr_identity_value(margin, beta=self.beta, lam=self.lam)
        if self.saturation is None:
            return value
        end = gr_identity_value(torch.full_like(margin, self.saturation), beta=self.beta, lam=self.lam)
        return torch.where(margin > self.saturation, 0.0, value - end)

    def emphasis(self, margin: Tensor) -> Tensor:
        emphasis = self._unsaturated(margin)
        return emphasis if self.saturation is None else torch.where(margin > self.saturation, 0.0, emphasis)

    def evaluate(
        self, margin: Tensor, *, num_classes: int | None = None, mass: Mass | None = None
    ) -> tuple[Tensor, Tensor]:
        value, emphasis = self.value(margin), self.emphasis(margin)
        if self.normalize == "none" or mass is None:
            return value, emphasis
        mean = batch_mean(2 * emphasis.detach(), mass)
        return value / mean, emphasis / mean

    def build_row_function(self, num_classes: int) -> RowFunction:
        if self.normalize == "none":
            return super().build_row_function(num_classes)
        largest = self.peak().emphasis
        return of_margin(lambda margin, mass: (self.value(margin), self.emphasis(margin)), largest)

    def compares_rows(self) -> bool:
        return self.normalize == "batch" or super().compares_rows()

    def peak(self) -> Peak:
        highest = self._highest()
        where = math.log(self.lam) if self.lam > 0 else -math.inf
        if self.saturation is not None and where > self.saturation:
            return super().peak()
        weight = math.exp(highest) if self.g == "exp" else highest
        return Peak(weight / 2, where if self.beta > 0 else math.nan)

    @property
    def kinks(self) -> tuple[float, ...]:
        return () if self.saturation is None else (self.saturation,)

    def _unsaturated(self, margin: Tensor) -> Tensor:
        exponent = gr_exponent(margin, beta=self.beta, lam=self.lam)
        return (torch.exp(exponent) if self.g == "exp" else exponent) / 2

    def _check_overflow(self) -> None:
        if self.g == "exp" and self._highest() > MAX_EXPONENT:
            raise ValueError(
                f"{self.name}: {self.steepness}={self.beta} gives weights up to exp({self._highest():.0f}),"
                f" which overflows float32; choose a smaller {self.steepness}"
            )
        if self.g == "identity" and self.beta == 0:
            raise ValueError(f"{self.name}: beta=0 with g='identity' gives every sample weight 0")

    def _highest(self) -> float:
        r"""Largest :math:`\beta p^\lambda(1-p)`, at :math:`p = \lambda/(1+\lambda)`."""
        log_power = self.lam * math.log(self.lam) if self.lam > 0 else 0.0
        return self.beta * math.exp(log_power - (1 + self.lam) * math.log1p(self.lam))

    def _table(self) -> IntegralTable:
        flat = math.log(max(self.beta, 1.0) * 1e9) / max(self.lam, 0.01) if self.lam > 0 else 0.0
        low = -max(40.0, flat)
        if self.saturation is None:
            return IntegralTable(self._unsaturated, low=low, high=40.0, anchor=0.0)
        end = self.saturation
        return IntegralTable(self._unsaturated, low=low, high=end, anchor=end, ends=True)


class IMAE(GR):
    r"""Improved mean absolute error: GR with lambda = 1, which has the focus of MAE.

    Loss:
        :math:`\int_\Delta^{saturation}` of the emphasis, see :class:`GR`
    Emphasis:
        :math:`\frac12 e^{Tp(1-p)}`, largest at p = 1/2, 0 beyond ``saturation``
    Limits:
        :math:`T\ge 0`; 0.5 for clean, 8 for noisy labels in the paper; with ``normalize="none"`` both trained
        ResNet-20 on CIFAR-10 at a rate of 0.1 (tables/imae.md). ``normalize`` as for :class:`GR`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> IMAE(T=8.0).emphasis(torch.tensor([0.0]))
        tensor([3.6945])

    Reference:
        Wang et al., IMAE for Noise-Robust Learning: Mean Absolute Error Does Not Treat Examples Equally
        and Gradient Magnitude's Variance Matters, 2019
    """

    name = "imae"
    T: float
    steepness = "T"

    def __init__(
        self,
        *,
        T: float = 8.0,
        saturation: float | None = FLOAT32_SATURATION,
        normalize: str = "batch",
        **outer: Unpack[Outer],
    ) -> None:
        beta = number(self.name, "T", T, "T >= 0", lambda t: t >= 0)
        super().__init__(beta=beta, lam=1.0, saturation=saturation, normalize=normalize, **outer)
        self.T = beta
