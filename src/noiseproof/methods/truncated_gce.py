"""Truncated GCE as its paper trains it: GCE first, then samples are given up and taken back by epochs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..losses import GCE, margin
from ..losses.checks import number, whole
from .base import Outputs, Situation
from .memory import MemoryMethod


class PrunedGCE(MemoryMethod):
    r"""Generalised cross entropy with pruning, ``truncated_gce`` among the methods.

    Loss:
        :math:`v\,[L_q(p_y)-L_q(k)]` with :math:`L_q(p) = (1-p^q)/q`; the gradient is v times that of GCE
    Weights:
        v = 1 at first. In epochs that are at least ``start`` and divisible by ``period`` every visited
        sample gets :math:`v = 1[p_y > k]` before its loss is taken, so a sample given up may come back.
    Deviations:
        The paper computes v with the network that was best on validation data, the public code with the
        one best on the *test* data, each in a pass of its own in evaluation mode. There is no hook for a
        best checkpoint here: v comes from the network as it is, in training mode, on the augmented input.
        The loss ``truncated_gce`` has no memory: it decides anew at every step.
    Settings:
        ``start`` 40 of 120 epochs on CIFAR-10, 80 of 150 on CIFAR-100
    Shape:
        logits (B, C); memory v (N,)
    Example:
        >>> method = PrunedGCE(start=2, period=1)
        >>> method.prepare(Situation(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=2, seed=0))
        >>> logits, zero = torch.tensor([[0.0, 4.0]]), torch.tensor([0])
        >>> method.step(logits, zero, zero, epoch=1), method.step(logits, zero, zero, epoch=2)
        (tensor(0.7936), tensor(0.))

    Reference:
        Zhang & Sabuncu, Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy
        Labels, NeurIPS 2018, algorithm 1; public code AlanChou/Truncated-Loss
    """

    name = "truncated_gce"

    def __init__(self, *, q: float = 0.7, k: float = 0.5, start: int = 40, period: int = 10) -> None:
        super().__init__()
        self.q = number(self.name, "q", q, "0 < q <= 1", lambda x: 0 < x <= 1)
        self.k = number(self.name, "k", k, "0 < k < 1", lambda x: 0 < x < 1)
        self.start = whole(self.name, "start", start, 1)
        self.period = whole(self.name, "period", period, 1)
        self.criterion = GCE(q=self.q, reduction="none")

    def prepare(self, situation: Situation) -> None:
        self.remember(situation, torch.ones(len(situation.label), device=situation.label.device))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        logits = outputs[0].logits
        if self.training and self.phase(epoch):
            least = math.log(self.k) - math.log1p(-self.k)
            self.memory.write(batch.index, margin(logits.detach(), batch.label) > least)
        rows = self.criterion(logits, batch.label) + math.expm1(self.q * math.log(self.k)) / self.q
        found: Tensor = (self.memory.read(batch.index).to(rows.dtype) * rows).mean()
        return found

    def phase(self, epoch: int) -> bool:
        """Whether samples are given up and taken back."""
        return epoch >= self.start and epoch % self.period == 0

    def begun(self, epoch: int) -> bool:
        return self.phase(epoch)
