"""Normalised focal loss: focal loss divided by what it would cost to be every class."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import (
    OwnAndBlind,
    accumulation_dtype,
    attach,
    blockwise_rows,
    class_margins,
    values_can_be_checked,
)
from .base import Outer
from .blind import EveryClass, own_and_blind, plan_of
from .finite import check_labels, check_logits_finite
from .focal import focal_emphasis, focal_value
from .fused import can_be_fused
from .limits import number
from .planned import planned
from .rows import Rows
from .statistics_loss import RowLoss


class NFL(RowLoss):
    r"""Normalised focal loss.

    Loss:
        :math:`(1-p_y)^\gamma\log p_y / \sum_k (1-p_k)^\gamma\log p_k`
    Emphasis:
        not of the margin alone
    Limits:
        :math:`\gamma\ge 0`; 0 is :class:`~noiseproof.losses.NCE`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> NFL()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.2500)

    Reference:
        Ma et al., Normalized Loss Functions for Deep Learning with Noisy Labels, ICML 2020
    """

    name = "nfl"

    def __init__(self, *, gamma: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.gamma = number(self.name, "gamma", gamma, "gamma >= 0", lambda g: g >= 0)

    def short_way(self, logits: Tensor, target: Tensor) -> Tensor | None:
        found = super().short_way(logits, target)
        if found is not None or not can_be_fused(logits, target):
            return found
        plan = self.divided_plan()
        return None if plan is None else planned(self, logits, target, plan)

    def divided_plan(self) -> OwnAndBlind | None:
        return plan_of(self._every_class(), None, None)

    def _every_class(self) -> EveryClass:
        def evaluate(margin: Tensor) -> tuple[Tensor, Tensor]:
            return focal_value(margin, gamma=self.gamma), focal_emphasis(margin, gamma=self.gamma)

        return EveryClass(evaluate, (NFL, self.gamma), lambda z: self._focal(z).sum(1))

    def kernel_rows(self, rows: Rows) -> Tensor | None:
        found = own_and_blind(self._every_class(), rows, None)
        if found is None:
            return None
        own, total = found
        return own / total if rows.keep is None else own / torch.where(rows.keep, total, 1.0)

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        check_logits_finite(logits)
        value = blockwise_rows(self._of_label, self._gradient, logits, target)
        check_labels(value, logits, target)
        return value

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        check_logits_finite(logits)
        return self._of_all(logits)

    def _of_label(self, logits: Tensor, target: Tensor) -> Tensor:
        return self._of_all(logits).gather(1, target.unsqueeze(1)).squeeze(1)

    def _of_all(self, logits: Tensor) -> Tensor:
        focal = self._focal(logits)
        return focal / focal.sum(1, keepdim=True)

    def _focal(self, logits: Tensor) -> Tensor:
        masked = logits == -torch.inf
        margins = class_margins(logits).masked_fill(masked, 0.0)
        value = focal_value(margins, gamma=self.gamma)
        focal = attach(margins, value, focal_emphasis(margins, gamma=self.gamma))
        return focal.masked_fill(masked, 0.0)

    def _gradient(self, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        r"""With F, E the focal value and emphasis of every class, :math:`R_k = E_k/(1-p_k)` and
        :math:`a_k = R_k\,\partial\ell/\partial F_k` the gradient is :math:`p_j\sum_k a_k - a_j`. That of the
        likeliest class, where this would cancel, is minus the sum of the others."""
        column = target.unsqueeze(1)
        log_p, p, rest = probabilities(logits)
        masked = log_p.isneginf() if may_have_masks(log_p) else None
        focus = rest.pow(self.gamma)
        focal = -focus * log_p
        ratio = focus.addcdiv_(p * focal, rest.clamp_min_(torch.finfo(rest.dtype).tiny), value=self.gamma)
        if masked is not None:
            focal, ratio = focal.masked_fill_(masked, 0.0), ratio.masked_fill_(masked, 0.0)
        own = focal.gather(1, column)
        others = focal.scatter(1, column, 0.0).sum(1, keepdim=True)
        total = own + others
        value = own / total
        slope = ratio.gather(1, column) * (others / total) / total
        slope = ratio.mul_(-value / total).scatter_(1, column, slope)
        top = p.argmax(1, keepdim=True)
        found = p.mul_(slope.sum(1, keepdim=True)).sub_(slope).scatter_(1, top, 0.0)
        return value.squeeze(1), found.scatter_(1, top, -found.sum(1, keepdim=True))


def may_have_masks(log_p: Tensor) -> bool:
    """False where it is known that no class is masked, without asking a device."""
    return not values_can_be_checked(log_p) or log_p.numel() == 0 or bool(log_p.amin() == -torch.inf)


def probabilities(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log p, p and 1 - p of every class, the last without cancellation for the likeliest one."""
    log_p = torch.log_softmax(logits.to(accumulation_dtype(logits.dtype)), 1)
    p = log_p.exp()
    rest = 1 - p
    top = p.argmax(1, keepdim=True)
    others = p.scatter(1, top, 0.0).sum(1, keepdim=True)
    log_p.scatter_(1, top, torch.log1p(-others))
    return log_p, p, rest.scatter_(1, top, others)
