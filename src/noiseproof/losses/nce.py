"""Normalised cross entropy: cross entropy divided by what it would cost to be every class."""

from torch import Tensor
from torch.nn.functional import logsigmoid

from ..kernels import Wanted, class_margins, statistics_rows
from .finite import check_logits_finite, check_margins
from .statistics_loss import RowLoss, present_classes


class NCE(RowLoss):
    r"""Normalised cross entropy; symmetric, hence noise tolerant, and slow to learn alone.

    Loss:
        :math:`-\log p_y / \sum_k(-\log p_k)`, the sum being :math:`K\,\mathrm{lse}(z) - \sum z`
    Emphasis:
        not of the margin alone: :math:`\nabla = \gamma(\nabla CE + \varepsilon\nabla R)` with
        :math:`\gamma = 1/\sum_k(-\log p_k)`, :math:`\varepsilon = K\ell`, :math:`R = \frac1K\sum_k\log p_k`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> import torch
        >>> NCE()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.2500)
    Reference:
        Ma et al., Normalized Loss Functions for Deep Learning with Noisy Labels, ICML 2020
    """

    name = "nce"

    def index_rows(self, logits: Tensor, target: Tensor, keep: Tensor | None) -> Tensor:
        row = statistics_rows(logits, target, Wanted(sum_z=True))
        check_margins(row.margin, logits, target)
        total = present_classes(logits) * row.logsumexp - row.sum_z
        return -logsigmoid(row.margin) / total

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        check_logits_finite(logits)
        surprise = -logsigmoid(class_margins(logits)).masked_fill(logits == -float("inf"), 0.0)
        return surprise / surprise.sum(1, keepdim=True)
