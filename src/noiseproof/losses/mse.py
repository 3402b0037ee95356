"""Mean squared error of the softmax: half of MAE plus a term that favours uncertain outputs."""

import torch
from torch import Tensor
from typing_extensions import Unpack

from ..kernels import Partials, Statistics, Wanted
from .base import Outer
from .checks import number
from .mae import mae_emphasis, mae_value
from .statistics_loss import StatisticsLoss


class MSE(StatisticsLoss):
    r"""Squared error between softmax and one-hot label, with a weight for its second part.

    Loss:
        :math:`(1-p_y) + \alpha\sum_k p_k^2`; alpha = 1/2 is
        :math:`\frac12 + \frac12\sum_k(1[k=y]-p_k)^2`
    Emphasis:
        not of the margin alone
    Limits:
        :math:`\alpha\ge 0`; 0 is half of MAE
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> MSE()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.8750)

    Reference:
        A Curriculum View of Robust Loss Functions, Table 7
    """

    name = "mse"
    wanted = Wanted(squares=True)

    def __init__(self, *, alpha: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.alpha = number(self.name, "alpha", alpha, "alpha >= 0", lambda a: a >= 0)

    def value_and_partials(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        value = mae_value(row.margin) / 2 + self.alpha * row.sum_p2
        by_margin = -mae_emphasis(row.margin) / 2
        return value, Partials(by_margin, sum_p2=torch.full_like(value, self.alpha))
