"""Confidence regularisation: what the sample would cost under labels drawn blindly is taken away."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import accumulation_dtype
from .base import Loss, Outer
from .limits import number
from .rows import Rows
from .statistics_loss import RowLoss


class CR(RowLoss):
    r"""Confidence regularisation of another loss.

    Loss:
        :math:`L(z,y) - \beta\sum_k \pi_k L(z,k)`
    Limits:
        :math:`\beta\ge 0`; ``prior`` :math:`\pi` of shape (C,), None for the label frequencies of the
        batch. With cross entropy it makes predictions confident.
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> from noiseproof import losses
        >>> round(float(CR(losses.CE(), beta=1.0)(torch.zeros(2, 4), torch.tensor([0, 1]))), 6)
        0.0

    Reference:
        Cheng et al., Learning with Instance-Dependent Label Noise: A Sample Sieve Approach, ICLR 2021
    """

    name = "cr"
    prior: Tensor | None

    def __init__(
        self,
        inner: Loss | str,
        *,
        beta: float = 1.0,
        prior: Tensor | None = None,
        **outer: Unpack[Outer],
    ) -> None:
        super().__init__(**outer)
        self.base = Loss.of(inner)
        self.beta = number(self.name, "beta", beta, "beta >= 0", lambda b: b >= 0)
        self.register_buffer("prior", None if prior is None else torch.as_tensor(prior))

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        own = self.base.hard_rows(Rows(logits, target, keep, target.shape))
        prior = self._prior(logits, target, keep)
        return own - self.beta * self._blind(logits, prior)

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        prior = self.prior if self.prior is not None else mass.sum(0) / mass.sum()
        own = self.base.class_rows(logits, torch.ones_like(logits))
        return own - self.beta * self._blind(logits, prior.to(own.dtype)).unsqueeze(1)

    def _blind(self, logits: Tensor, prior: Tensor) -> Tensor:
        mass = torch.where(logits == -torch.inf, 0.0, prior.to(accumulation_dtype(logits.dtype)))
        return self.base.soft_rows(logits, mass)

    def _prior(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        if self.prior is not None:
            return self.prior
        dtype = accumulation_dtype(logits.dtype)
        share = torch.ones_like(target, dtype=dtype) if keep is None else keep.to(dtype)
        counts = share.new_zeros(logits.shape[1]).scatter_add(0, target, share)
        return counts / counts.sum().clamp_min(1.0)
