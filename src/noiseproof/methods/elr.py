"""Early-learning regularisation: predictions stay close to a running mean of earlier predictions."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number
from .base import Outputs, TrainingInfo
from .memory import MemoryMethod
from .probabilities import log_probabilities, take_labels

EDGE = 1e-4


class ELR(MemoryMethod):
    r"""Early-learning regularisation: predictions stay close to their running mean.

    Loss:
        :math:`-\log p_y + \lambda\log(1-\langle t, p\rangle)`, where t is the running mean of the
        sample's own probabilities, updated before each use: :math:`t\leftarrow\beta t+(1-\beta)p`
    Deviations:
        As in the public code, and not in the paper, p of the second term is clipped to
        [1e-4, 1 - 1e-4] (so it has no gradient beyond) and t averages the clipped p divided by its sum.
        The cross entropy is computed in log space and never clipped. ELR+ (two networks, mixup, weight
        averaging) is another method.
    Settings:
        CIFAR-10 ``beta=0.7, lam=3.0``; CIFAR-100 ``beta=0.9, lam=7.0``
    Shape:
        logits (B, C); memory t (N, C), zero at first
    Example:
        >>> method = ELR()
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=1, seed=0))
        >>> method.step(torch.zeros(1, 2), torch.tensor([0]), torch.tensor([0]), epoch=1)
        tensor(0.2056)

    Reference:
        Liu et al., Early-Learning Regularization Prevents Memorization of Noisy Labels, NeurIPS 2020;
        public code shengliu66/ELR
    """

    name = "elr"
    same_every_epoch = True
    columns = ("target_probability",)

    def __init__(self, *, beta: float = 0.7, lam: float = 3.0) -> None:
        super().__init__()
        self.beta = number(self.name, "beta", beta, "0 <= beta < 1", lambda x: 0 <= x < 1)
        self.lam = number(self.name, "lam", lam, "lam >= 0", lambda x: x >= 0)

    def prepare(self, info: TrainingInfo) -> None:
        size = (len(info.label), info.num_classes)
        self.create_table(info, torch.zeros(size, device=info.label.device))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        p = log_p.exp().clamp(EDGE, 1 - EDGE)
        if self.training:
            seen = (p / p.sum(1, keepdim=True)).detach().to(self.memory.values.dtype)
            self.memory.write(batch.index, torch.lerp(seen, self.memory.read(batch.index), self.beta))
        self.record_target_probability(batch)
        agreement = (self.memory.read(batch.index).to(p.dtype) * p).sum(1)
        return (self.lam * torch.log1p(-agreement) - take_labels(log_p, batch.label)).mean()
