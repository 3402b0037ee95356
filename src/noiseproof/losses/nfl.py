"""Normalised focal loss: focal loss divided by what it would cost to be every class."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import attach, blockwise_rows, class_margins
from .base import Outer
from .finite import check_logits_finite
from .focal import focal_emphasis, focal_value
from .limits import number
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

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        check_logits_finite(logits)
        return blockwise_rows(self._of_label, logits, target)

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        check_logits_finite(logits)
        return self._of_all(logits)

    def _of_label(self, logits: Tensor, target: Tensor) -> Tensor:
        return self._of_all(logits).gather(1, target.unsqueeze(1)).squeeze(1)

    def _of_all(self, logits: Tensor) -> Tensor:
        masked = logits == -torch.inf
        margins = class_margins(logits).masked_fill(masked, 0.0)
        value = focal_value(margins, gamma=self.gamma)
        focal = attach(margins, value, focal_emphasis(margins, gamma=self.gamma))
        focal = focal.masked_fill(masked, 0.0)
        return focal / focal.sum(1, keepdim=True)
