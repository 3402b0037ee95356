"""Label smoothing with symmetric cross entropy in place of cross entropy."""

from __future__ import annotations

from torch import Tensor

from ..data import Batch
from ..losses.checks import number
from .base import Method, Outputs
from .probabilities import log_probabilities, one_hot, soft_cross_entropy, soft_rce


class GLSSL(Method):
    r"""Symmetric cross entropy on smoothed labels.

    Loss:
        :math:`-\alpha\sum_k\bar q_k\log p_k - \beta\sum_k p_k\max(\log\bar q_k, A)` with
        :math:`\bar q_k = (1-\varepsilon)1[k=y]+\varepsilon/K`, :math:`\varepsilon` = ``smoothing``
    Limits:
        :math:`0\le\varepsilon<1`; 0 is the loss ``sl``. Up to a constant it is
        :math:`\alpha` gls(:math:`\varepsilon`) + :math:`\beta` rce with A replaced by
        :math:`\max(\log\bar q_j, A)-\log\bar q_y`.
    Deviations:
        The paper says only that SL replaces cross entropy with its own alpha and beta; smoothing 0.1 and
        the soft reverse term are the natural reading.
    Shape:
        logits (B, C)
    Example:
        >>> import torch
        >>> zero = torch.tensor([0])
        >>> GLSSL(smoothing=0.0).step(torch.zeros(1, 4), zero, zero, epoch=1)
        tensor(3.1386)

    Reference:
        Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019, Table 2
        ("LSR+SL")
    """

    name = "gls_sl"
    same_every_epoch = True
    mixup = "labels"

    def __init__(
        self, *, smoothing: float = 0.1, alpha: float = 0.1, beta: float = 1.0, A: float = -4.0
    ) -> None:
        super().__init__()
        self.smoothing = number(self.name, "smoothing", smoothing, "0 <= smoothing < 1", lambda x: 0 <= x < 1)
        self.alpha = number(self.name, "alpha", alpha, "alpha > 0", lambda x: x > 0)
        self.beta = number(self.name, "beta", beta, "beta > 0", lambda x: x > 0)
        self.A = number(self.name, "A", A, "A < 0", lambda x: x < 0)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        classes = log_p.shape[1]
        hard = one_hot(batch.label, classes, log_p.dtype)
        target = (1 - self.smoothing) * hard + self.smoothing / classes
        reverse = soft_rce(log_p.exp(), target.log(), self.A)
        return (self.alpha * soft_cross_entropy(log_p, target) + self.beta * reverse).mean()
