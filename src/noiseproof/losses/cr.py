"""Confidence regularisation: subtract the expected loss under labels drawn from the prior."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from typing_extensions import Unpack

from .. import kernels
from ..kernels import RowFunction, accumulation_dtype
from ..kernels.linear.total import BlockLoss, ExpressionBlockLoss
from .base import Loss, Outer
from .checks import number
from .margin_loss import MarginLoss
from .registry import part_of
from .rows import Rows


class CR(Loss):
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
    why_no_row_function = "it sums over all classes of a row"
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

    def build_row_function(self, num_classes: int) -> RowFunction | None:
        r"""With cross entropy :math:`(1-\beta\Pi)\,\mathrm{lse}(z) - z_y + \beta\sum_k\pi_k z_k`."""
        expected = self.base.prior_function()
        if expected is None:
            return None
        return kernels.weighted_sum([1.0, -self.beta], [self.base.row_function(num_classes), expected])

    def sum_weights(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        if self.prior is None:
            return _frequencies(logits, target, keep)
        if self.prior.shape[0] != logits.shape[1]:
            entries, classes = self.prior.shape[0], logits.shape[1]
            raise ValueError(f"cr: prior has {entries} entries, the logits {classes} classes")
        wide = self.prior.to(accumulation_dtype(self.prior.dtype))
        return wide if wide is self.prior else wide / wide.sum()

    def hard_rows(self, rows: Rows) -> Tensor:
        if self.row_function(rows.logits.shape[1]) is not None:
            return super().hard_rows(rows)
        return self._rows(rows, self.sum_weights(*rows[:3]))

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        prior = mass.sum(0) / mass.sum() if self.prior is None else self.sum_weights(logits, mass, None)
        own = self.base.class_rows(logits, mass)
        return own - self.beta * self._prior_loss(logits, prior.to(own.dtype)).unsqueeze(1)

    def linear_block_loss(self, rows: Rows) -> BlockLoss:
        if rows.is_soft or self.row_function(rows.logits.shape[1]) is not None:
            return super().linear_block_loss(rows)
        prior, own = self.sum_weights(*rows[:3]), self.base.linear_block_loss(rows)

        def values(logits: Tensor, part: slice) -> Tensor:
            here = rows.part(logits, part)
            if not self.base.needs_labels_of_batch():
                return self._rows(here, prior)
            return self._all_rows(here, prior, lambda kept: own.values(kept, part))

        return ExpressionBlockLoss(values)

    def needs_labels_of_batch(self) -> bool:
        return self.prior is None or super().needs_labels_of_batch()

    def _rows(self, rows: Rows, prior: Tensor) -> Tensor:
        """The loss where it is not a function of row statistics; sums of unshifted logits would round."""
        base = self.base

        def own_minus_prior(logits: Tensor, target: Tensor) -> Tensor:
            logits = logits.to(accumulation_dtype(logits.dtype)) - logits.detach().amax(1, keepdim=True)
            with kernels.without_inplace():
                own = base.hard_rows(Rows(logits, target, None, target.shape))
            return own - self.beta * self._prior_loss(logits, prior)

        if base.compares_rows() or base.needs_labels_of_batch():  # blocks of rows would have other values
            return self._all_rows(rows, prior, lambda kept: base.hard_rows(rows._replace(logits=kept)))
        gradient, function = None, base.row_function(rows.logits.shape[1])
        if isinstance(base, MarginLoss) and function is not None:
            gradient = kernels.class_gradient(function, kernels.minus_prior_loss(self.beta, prior))
        return kernels.by_blocks(own_minus_prior, rows.logits, rows.target, rows.keep, gradient)

    def _all_rows(self, rows: Rows, prior: Tensor, own: Callable[[Tensor], Tensor]) -> Tensor:
        """The same as one expression of all rows, not by blocks."""
        keep = rows.keep
        kept = rows.logits if keep is None else torch.where(keep.unsqueeze(1), rows.logits, 0.0)
        with kernels.without_inplace():
            found = own(kept) - self.beta * self._prior_loss(kept, prior)
        return found if keep is None else torch.where(keep, found, 0.0)

    def _prior_loss(self, logits: Tensor, prior: Tensor) -> Tensor:
        mass = torch.where(logits == -torch.inf, 0.0, prior.to(accumulation_dtype(logits.dtype)))
        return self.base.soft_rows(logits, mass)


def _frequencies(logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
    """Label frequencies (C,) of the rows that are not ignored, without labels that are not class indices.

    On a CPU such labels raise RuntimeError or ValueError if ``keep`` is None.
    """
    classes = logits.shape[1]
    if keep is None and len(target) and kernels.values_can_be_checked(target):
        counts = torch.bincount(target, minlength=classes)
        if len(counts) > classes:
            raise ValueError(
                f"target {len(counts) - 1} is not a valid class index: there are {classes} classes"
            )
        return counts.to(accumulation_dtype(logits.dtype)).div_(len(target))
    valid = (target >= 0) & (target < classes)
    valid = valid if keep is None else valid & keep
    share = valid.to(accumulation_dtype(logits.dtype))
    counts = share.new_zeros(classes).scatter_add(0, torch.where(valid, target, 0), share)
    return counts / counts.sum().clamp_min(1.0)


def defined_per_class(loss: Loss) -> bool:
    return loss.defined_per_class and all(defined_per_class(part) for part in loss.inner)


def checked_prior(prior: object) -> Tensor:
    """A vector of label frequencies that sum to 1; label counts are divided by their sum."""
    if isinstance(prior, (bool, int, float, str)):
        raise TypeError(f"cr: prior must be a vector of label frequencies, got {prior!r}")
    found = torch.as_tensor(prior)
    if found.dim() != 1 or not bool((found.isfinite() & (found >= 0)).all()) or not bool(found.any()):
        raise ValueError("cr: prior must be a vector of finite frequencies, none negative, not all 0")
    wide = torch.float64 if found.dtype == torch.float64 else torch.float32
    return (found.detach().double() / found.sum(dtype=torch.float64)).to(wide)
