"""Normalised cross entropy: cross entropy divided by the sum of its values for all classes."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..kernels import Partials, Statistics, Wanted
from .statistics_loss import StatisticsLoss


class NCE(StatisticsLoss):
    r"""Normalised cross entropy: symmetric, hence noise tolerant; learns slowly when used alone.

    Loss:
        :math:`-\log p_y / \sum_k(-\log p_k)`, the sum being :math:`K\,\mathrm{lse}(z) - \sum z`
    Emphasis:
        not of the margin alone: :math:`\nabla = \gamma(\nabla CE + \varepsilon\nabla R)` with
        :math:`\gamma = 1/\sum_k(-\log p_k)`, :math:`\varepsilon = K\ell`, :math:`R = \frac1K\sum_k\log p_k`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> NCE()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.2500)

    Reference:
        Ma et al., Normalized Loss Functions for Deep Learning with Noisy Labels, ICML 2020
    """

    name = "nce"
    wanted = Wanted(sum_z=True)

    def value_and_partials(self, row: Statistics, classes: Tensor) -> tuple[Tensor, Partials]:
        scale = 1 / (classes * row.logsumexp - row.sum_z)
        value = -logsigmoid(row.margin) * scale
        by_sum = value * scale
        return value, Partials(-torch.sigmoid(-row.margin) * scale, -classes * by_sum, by_sum)
