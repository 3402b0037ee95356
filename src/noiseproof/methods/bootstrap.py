"""Bootstrapping: the target is a mixture of the given label and the network's prediction."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number
from .base import Method, Outputs
from .probabilities import entropy, log_probabilities, take_labels


class BootstrapSoft(Method):
    r"""Bootstrapping: the target is mixed with the predicted probabilities.

    Loss:
        :math:`-\sum_k[\beta 1[k=y]+(1-\beta)p_k]\log p_k`, that is :math:`\beta` CE
        + :math:`(1-\beta)` entropy of p
    Deviations:
        None: as in the paper the gradient also flows through the p of the target.
    Shape:
        logits (B, C)
    Example:
        >>> zero = torch.tensor([0])
        >>> BootstrapSoft(beta=0.5).step(torch.tensor([[0.0, 2.0]]), zero, zero, epoch=1)
        tensor(1.2461)

    Reference:
        Reed et al., Training Deep Neural Networks on Noisy Labels with Bootstrapping, ICLR workshop 2015
    """

    name = "bootstrap_soft"
    same_every_epoch = True
    mixup = "labels"

    def __init__(self, *, beta: float = 0.95) -> None:
        super().__init__()
        self.beta = number(self.name, "beta", beta, "0 <= beta <= 1", lambda x: 0 <= x <= 1)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        rows = (1 - self.beta) * entropy(log_p) - self.beta * take_labels(log_p, batch.label)
        return rows.mean()


class BootstrapHard(Method):
    r"""Bootstrapping: the target is mixed with the predicted class.

    Loss:
        :math:`-\beta\log p_y - (1-\beta)\log\max_k p_k`
    Deviations:
        None. The paper calls the hard form an alternation of choosing the best label and a gradient step.
    Shape:
        logits (B, C)
    Example:
        >>> zero = torch.tensor([0])
        >>> BootstrapHard(beta=0.5).step(torch.tensor([[0.0, 2.0]]), zero, zero, epoch=1)
        tensor(1.1269)

    Reference:
        Reed et al., Training Deep Neural Networks on Noisy Labels with Bootstrapping, ICLR workshop 2015
    """

    name = "bootstrap_hard"
    same_every_epoch = True
    mixup = "labels"

    def __init__(self, *, beta: float = 0.8) -> None:
        super().__init__()
        self.beta = number(self.name, "beta", beta, "0 <= beta <= 1", lambda x: 0 <= x <= 1)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        decided = take_labels(log_p, log_p.argmax(1))
        return -torch.lerp(decided, take_labels(log_p, batch.label), self.beta).mean()
