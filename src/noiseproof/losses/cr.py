"""Confidence regularisation: what the sample would cost under labels drawn blindly is taken away."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import Plan, WithoutBlindCE, accumulation_dtype, uses_kernels
from ..kernels.inplace import withheld
from .base import Loss, Outer
from .blind import EveryClass, own_and_blind, plan_of
from .ce import CE
from .fingerprint import fingerprint
from .fused import can_be_fused
from .limits import number
from .margin_loss import MarginLoss
from .part import part_of
from .planned import planned
from .rows import Rows
from .statistics_loss import RowLoss

SUM_TOLERANCE = 1e-4
"""Frequencies whose sum is so near to 1 stay as they are."""


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
        >>> round(float(CR(losses.CE(), beta=0.5)(torch.zeros(2, 4), torch.tensor([0, 1]))), 6)
        0.693147

    Reference:
        Cheng et al., Learning with Instance-Dependent Label Noise: A Sample Sieve Approach, ICLR 2021
    """

    name = "cr"
    held = "prior"
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
        self.base = part_of(self.name, inner)
        if not defined_per_class(self.base):
            raise TypeError(f"cr takes a loss defined for every class of every row, got {self.base}")
        self.beta = number(self.name, "beta", beta, "beta >= 0", lambda b: b >= 0)
        self.register_buffer("prior", None if prior is None else checked_prior(prior))

    @property
    def inner(self) -> tuple[Loss, ...]:
        return (self.base,)

    def short_way(self, logits: Tensor, target: Tensor) -> Tensor | None:
        found = super().short_way(logits, target)
        if found is not None or not can_be_fused(logits, target):
            return found
        prior = None if self.prior is None else on_device(self._fitting(self.prior, logits), logits)
        plan = self._plan(logits, prior)
        return None if plan is None else planned(self, logits, target, plan, prior)

    def kept_rows(self, rows: Rows, kept: Tensor) -> Tensor:
        same = copy.copy(self)
        same.__dict__["_buffers"] = {**self._buffers, "prior": kept}
        return same.hard_rows(rows)

    def _plan(self, logits: Tensor, prior: Tensor | None) -> Plan | None:
        if type(self.base) is CE:
            return WithoutBlindCE(prior, self.beta)
        if not isinstance(self.base, MarginLoss):
            return None
        return plan_of(self._every_class(self.base, logits.shape[1], None), prior, self.beta)

    def kernel_rows(self, rows: Rows) -> Tensor | None:
        if not isinstance(self.base, MarginLoss) or not uses_kernels(rows.logits):
            return None
        prior = self._prior(rows.logits, rows.target, rows.keep)
        every = self._every_class(self.base, rows.logits.shape[1], prior)
        found = own_and_blind(every, rows, on_device(prior, rows.logits))
        return None if found is None else found[0] - self.beta * found[1]

    def _every_class(self, base: MarginLoss, classes: int, prior: Tensor | None) -> EveryClass:
        def evaluate(margin: Tensor) -> tuple[Tensor, Tensor]:
            return base.evaluate(margin, num_classes=classes, mass=1.0)

        def plain(logits: Tensor) -> Tensor:
            assert prior is not None
            return self._blind(logits, prior)

        marks = None if torch.compiler.is_compiling() else fingerprint(base)
        return EveryClass(evaluate, None if marks is None else (classes, *marks), plain)

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        with withheld():
            own = self.base.hard_rows(Rows(logits, target, keep, target.shape))
        prior = self._prior(logits, target, keep)
        return own - self.beta * self._blind(logits, prior)

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        prior = mass.sum(0) / mass.sum() if self.prior is None else self._fitting(self.prior, logits)
        own = self.base.class_rows(logits, (logits != -torch.inf).to(mass.dtype))
        return own - self.beta * self._blind(logits, prior.to(own.dtype)).unsqueeze(1)

    def _blind(self, logits: Tensor, prior: Tensor) -> Tensor:
        mass = torch.where(logits == -torch.inf, 0.0, prior.to(accumulation_dtype(logits.dtype)))
        return self.base.soft_rows(logits, mass)

    def _prior(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        if self.prior is not None:
            return self._fitting(self.prior, logits)
        dtype = accumulation_dtype(logits.dtype)
        share = torch.ones_like(target, dtype=dtype) if keep is None else keep.to(dtype)
        counts = share.new_zeros(logits.shape[1]).scatter_add(0, target, share)
        return counts / counts.sum().clamp_min(1.0)

    def _fitting(self, prior: Tensor, logits: Tensor) -> Tensor:
        if prior.shape[0] != logits.shape[1]:
            raise ValueError(f"cr: prior has {prior.shape[0]} entries, the logits {logits.shape[1]} classes")
        return prior


def on_device(prior: Tensor, logits: Tensor) -> Tensor:
    """As the kernels read it."""
    return prior.to(logits.device).float().contiguous()


def defined_per_class(loss: Loss) -> bool:
    return loss.defined_per_class and all(defined_per_class(part) for part in loss.inner)


def checked_prior(prior: object) -> Tensor:
    """A vector of label frequencies with the sum 1; numbers of labels are divided by their sum."""
    if isinstance(prior, (bool, int, float, str)):
        raise TypeError(f"cr: prior must be a vector of label frequencies, got {prior!r}")
    found = torch.as_tensor(prior)
    if found.dim() != 1 or not bool((found.isfinite() & (found >= 0)).all()) or not bool(found.any()):
        raise ValueError("cr: prior must be a vector of finite frequencies, none negative, not all 0")
    total = found.sum(dtype=torch.float64)
    if abs(float(total) - 1) <= SUM_TOLERANCE:
        return found.detach().clone()
    return (found.double() / total).to(found.dtype if found.is_floating_point() else torch.float32)
