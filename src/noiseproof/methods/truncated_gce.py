"""Truncated GCE as trained in its paper: GCE first, then samples are pruned and restored between epochs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..losses import GCE, margin
from ..losses.checks import choice, number, whole
from .base import Evaluation, Outputs, TrainingInfo
from .memory import MemoryMethod


class PrunedGCE(MemoryMethod):
    r"""Generalised cross entropy without the samples whose label has a low probability.

    Loss:
        :math:`v\,[L_q(p_y)-L_q(k)]` with :math:`L_q(p) = (1-p^q)/q`; the gradient is v times that of GCE
    Weights:
        v = 1 at first. In epochs that are at least ``start`` and divisible by ``period`` every sample
        gets :math:`v = 1[p_y > k]`, so a pruned sample may return. With ``by="visit"`` p is that of the
        network as it visits the sample, in training mode; with ``by="validation"`` that of the network
        that was best on validation data up to then, in evaluation mode, for all samples before the epoch.
    Deviations:
        The paper decides by validation data, the public code by *test* data; ``"visit"`` needs neither.
        The loss ``truncated_gce`` has no memory: it decides anew at every step.
    Needs:
        no noise rate; with ``by="validation"`` a validation split, whose labels may be as noisy as the rest
    Settings:
        ``start`` 40 of 120 epochs on CIFAR-10, 80 of 150 on CIFAR-100
    Shape:
        logits (B, C); memory v (N,)
    Example:
        >>> method = PrunedGCE(start=2, period=1)
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=2, seed=0))
        >>> logits, zero = torch.tensor([[0.0, 4.0]]), torch.tensor([0])
        >>> method.step(logits, zero, zero, epoch=1), method.step(logits, zero, zero, epoch=2)
        (tensor(0.7936), tensor(0.))

    Reference:
        Zhang & Sabuncu, Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy
        Labels, NeurIPS 2018, algorithm 1; public code AlanChou/Truncated-Loss
    """

    name = "truncated_gce"
    decided: Tensor

    def __init__(
        self, *, q: float = 0.7, k: float = 0.5, start: int = 40, period: int = 10, by: str = "visit"
    ) -> None:
        super().__init__()
        self.q = number(self.name, "q", q, "0 < q <= 1", lambda x: 0 < x <= 1)
        self.k = number(self.name, "k", k, "0 < k < 1", lambda x: 0 < x < 1)
        self.start = whole(self.name, "start", start, 1)
        self.period = whole(self.name, "period", period, 1)
        self.by = choice(self.name, "by", by, ("visit", "validation"))
        self.criterion = GCE(q=self.q, reduction="none")
        self.label: Tensor | None = None

    def prepare(self, info: TrainingInfo) -> None:
        if self.by == "validation" and not info.validation:
            raise ValueError(
                "truncated_gce: by='validation' needs validation data: give validation=0.1 or so,"
                " or by='visit'"
            )
        self.label = info.label
        self.create_table(info, torch.ones(len(info.label), device=info.label.device))
        if self.by == "validation":
            self.register_buffer("decided", torch.ones_like(self.memory.values))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        logits = outputs[0].logits
        if self.training and self.phase(epoch):
            self.memory.write(batch.index, self._is_kept(logits.detach(), batch.label))
        rows = self.criterion(logits, batch.label) + math.expm1(self.q * math.log(self.k)) / self.q
        found: Tensor = (self.memory.read(batch.index).to(rows.dtype) * rows).mean()
        return found

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        if self.by == "visit" or self.label is None:
            return
        if evaluation.is_best:
            self.decided.copy_(self._is_kept(evaluation.outputs()[0].logits, self.label))
        if self.is_active(epoch + 1):
            self.memory.values.copy_(self.decided)

    def phase(self, epoch: int) -> bool:
        """Whether visited samples are pruned and restored."""
        return self.by == "visit" and self.is_active(epoch)

    def is_active(self, epoch: int) -> bool:
        return epoch >= self.start and epoch % self.period == 0

    def _is_kept(self, logits: Tensor, label: Tensor) -> Tensor:
        return margin(logits, label) > math.log(self.k) - math.log1p(-self.k)
