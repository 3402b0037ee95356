"""Joint optimisation of labels and network, with two regularisers against collapse."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import choice, number, whole
from .base import Outputs, TrainingInfo, not_prepared
from .memory import MemoryMethod
from .probabilities import entropy, log_probabilities, one_hot, soft_cross_entropy
from .spec import switch


class Joint(MemoryMethod):
    r"""Joint optimisation, first step: labels are replaced by averaged predictions during training.

    Loss:
        :math:`-\frac1B\sum_i\sum_k q_{ik}\log p_{ik}
        + \alpha\sum_k\pi_k\log(\pi_k/\bar p_k) + \beta\cdot\frac1B\sum_i H(p_i)`, where
        :math:`\bar p` is the mean over the batch and :math:`\pi` the ``prior`` of the classes:
        ``"uniform"``, or ``"given"``, the frequencies of the given labels
    Labels:
        q is the given label in epochs up to ``start``; then the mean of the probabilities the sample had in
        its last ``average`` epochs (``hard=True``: the class where that is largest)
    Deviations:
        The public code updates all labels at the end of an epoch, here each sample is updated when it is
        visited, from the same epochs. A sample that was not in an epoch keeps an older probability; a
        sample without predictions keeps its label. Probabilities are stored in float16. The code writes the
        prior term without its constant :math:`\sum\pi\log\pi`. The second step, training from scratch on
        ``corrected_labels()``, is another run.
    Settings:
        ``alpha=1.2, beta=0.8`` under symmetric and ``alpha=0.8, beta=0.4`` under asymmetric noise,
        ``start=70`` of 200 epochs at a constant, high learning rate
    Shape:
        logits (B, C); memory (N, average, C) float16
    Example:
        >>> method = Joint(start=1, average=2)
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=2, seed=0))
        >>> logits, zero = torch.tensor([[0.0, 4.0]]), torch.tensor([0])
        >>> method.step(logits, zero, zero, epoch=1) > method.step(logits, zero, zero, epoch=2)
        tensor(True)
        >>> method.corrected_labels()
        tensor([1])

    Reference:
        Tanaka et al., Joint Optimization Framework for Learning with Noisy Labels, CVPR 2018; public code
        DaikiTanaka-UT/JointOptimization
    """

    name = "joint"

    def __init__(
        self,
        *,
        alpha: float = 1.2,
        beta: float = 0.8,
        start: int = 70,
        average: int = 10,
        hard: bool = False,
        prior: str = "uniform",
    ) -> None:
        super().__init__()
        self.alpha = number(self.name, "alpha", alpha, "alpha >= 0", lambda x: x >= 0)
        self.beta = number(self.name, "beta", beta, "beta >= 0", lambda x: x >= 0)
        self.start = whole(self.name, "start", start, 1)
        self.average = whole(self.name, "average", average, 1)
        self.hard = switch(self.name, "hard", hard)
        self.prior = choice(self.name, "prior", prior, ("uniform", "given"))
        self.given: Tensor | None = None
        self.share: Tensor | None = None

    def prepare(self, info: TrainingInfo) -> None:
        label, classes = info.label, info.num_classes
        size = (len(label), self.average, classes)
        self.create_table(info, torch.zeros(size, dtype=torch.float16, device=label.device))
        self.given = label
        counts = torch.bincount(label, minlength=classes).float()
        self.share = torch.ones_like(counts) / classes if self.prior == "uniform" else counts / counts.sum()

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        target = one_hot(batch.label, log_p.shape[1], log_p.dtype)
        updates, slot = self.phase(epoch)
        if updates:
            target = self._updated(self.memory.read(batch.index), batch.label).to(log_p.dtype)
        if self.training:
            self.memory.write(batch.index, log_p.exp(), at=slot)
        rows = soft_cross_entropy(log_p, target) + self.beta * entropy(log_p)
        return rows.mean() + self.alpha * self._distance_to_prior(log_p)

    def phase(self, epoch: int) -> tuple[bool, int]:
        """Whether labels are updated, and which of the stored epochs is written."""
        return epoch > self.start, epoch % self.average

    def is_active(self, epoch: int) -> bool:
        return self.phase(epoch)[0]

    def corrected_labels(self) -> Tensor:
        """The current most likely class of every label, (N,), in the order of the training data."""
        if self.given is None:
            raise not_prepared(self)
        return self._updated(self.memory.values, self.given).argmax(1)

    def _updated(self, seen: Tensor, label: Tensor) -> Tensor:
        """Mean over the stored epochs; the given label if there is none."""
        total = seen.float().sum(1)
        mass = total.sum(1, keepdim=True)
        given = one_hot(label, seen.shape[-1])
        soft = torch.where(mass > 0, total / mass.clamp_min(0.5), given)
        return one_hot(soft.argmax(1), seen.shape[-1]) if self.hard else soft

    def _distance_to_prior(self, log_p: Tensor) -> Tensor:
        if self.share is None:
            raise not_prepared(self)
        log_mean = torch.logsumexp(log_p, 0) - math.log(max(len(log_p), 1))
        share = self.share.to(log_p.dtype)
        return (torch.xlogy(share, share) - share * log_mean).sum()
