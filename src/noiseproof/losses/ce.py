"""Cross entropy: the lower the label's probability, the larger the gradient, also for wrong labels."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..kernels import Mass, Partials, RowFunction, Statistics, Wanted
from .margin_loss import MarginLoss


def ce_value(margin: Tensor) -> Tensor:
    return -logsigmoid(margin)


def ce_emphasis(margin: Tensor) -> Tensor:
    return torch.sigmoid(-margin)


class CE(MarginLoss):
    r"""Cross entropy, the same numbers as :func:`torch.nn.functional.cross_entropy`.

    Loss:
        :math:`-\log p`
    Emphasis:
        :math:`1-p`, largest in the limit :math:`p\to 0`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> CE()(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([0]))
        tensor(0.2395)
    """

    name = "ce"

    def value(self, margin: Tensor) -> Tensor:
        return ce_value(margin)

    def emphasis(self, margin: Tensor) -> Tensor:
        return ce_emphasis(margin)

    def prior_function(self) -> RowFunction:
        r""":math:`\sum_k \pi_k\,(\mathrm{lse}(z) - z_k)`, where the weights are the prior :math:`\pi`."""

        def evaluate(row: Statistics, classes: Tensor, mass: Mass) -> tuple[Tensor, Partials]:
            value = classes * row.logsumexp - row.sum_z
            return value, Partials(logsumexp=classes, sum_z=torch.full_like(value, -1.0))

        return RowFunction(evaluate, Wanted(sum_z=True), weighted=True)
