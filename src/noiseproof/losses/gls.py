"""Generalised label smoothing: cross entropy with a label mixed with the uniform distribution."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from typing_extensions import Unpack

from ..kernels import Partials, Statistics, Wanted
from .base import Outer
from .checks import number
from .statistics_loss import StatisticsLoss


class GLS(StatisticsLoss):
    r"""Cross entropy against the label smoothed by alpha, also called ``ls``.

    Loss:
        :math:`-\sum_k [(1-\alpha)1[k=y] + \alpha/K]\log p_k`
    Emphasis:
        not of the margin alone
    Limits:
        :math:`\alpha < 1`; positive smooths (torch's ``label_smoothing``), negative sharpens, 0 is CE
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> GLS(alpha=0.1)(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([0]))
        tensor(0.3729)

    Reference:
        Wei et al., To Smooth or Not? When Label Smoothing Meets Noisy Labels, ICML 2022
    """

    name = "gls"
    wanted = Wanted(sum_z=True)

    def __init__(self, *, alpha: float = 0.1, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.alpha = number(self.name, "alpha", alpha, "alpha < 1", lambda a: a < 1)

    def value_and_partials(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        uniform = row.logsumexp - row.sum_z / classes
        value = self.alpha * uniform - (1 - self.alpha) * logsigmoid(row.margin)
        by_margin = (self.alpha - 1) * torch.sigmoid(-row.margin)
        return value, Partials(by_margin, torch.full_like(value, self.alpha), -self.alpha / classes)
