"""Self-ensemble label correction: targets move from the given labels to the mean of the predictions."""

from __future__ import annotations

from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Outputs
from .memory import TargetMemory
from .probabilities import log_probabilities, soft_cross_entropy, take_labels


class SELC(TargetMemory):
    r"""Self-ensemble label correction: targets move towards the network's own predictions.

    Loss:
        :math:`-\log p_y` in epochs up to ``start``; then :math:`-\sum_k q_k\log p_k` with
        :math:`q\leftarrow\alpha q+(1-\alpha)p` before each use, q being the given label at first
    Deviations:
        None from the public code but the log space. The paper finds ``start`` from the turning point of the
        local dimensionality; here it is given.
    Settings:
        ``start`` on CIFAR-10: 40, 30, 30, 40 at 20, 40, 60, 80% symmetric and 40 at 40% asymmetric noise;
        on CIFAR-100: 30, 20, 30, 40 and 20
    Shape:
        logits (B, C); memory q (N, C)
    Example:
        >>> import torch
        >>> from noiseproof.methods import TrainingInfo
        >>> method = SELC(alpha=0.5, start=1)
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=2, seed=0))
        >>> logits, zero = torch.tensor([[0.0, 4.0]]), torch.tensor([0])
        >>> method.step(logits, zero, zero, epoch=1), method.step(logits, zero, zero, epoch=2)
        (tensor(4.0181), tensor(2.0541))
        >>> method.memory.values
        tensor([[0.5090, 0.4910]])

    Reference:
        Lu & He, SELC: Self-Ensemble Label Correction Improves Learning with Noisy Labels, IJCAI 2022;
        public code MacLLL/SELC
    """

    name = "selc"
    columns = ("target_probability",)

    def __init__(self, *, alpha: float = 0.9, start: int = 30) -> None:
        super().__init__()
        self.alpha = number(self.name, "alpha", alpha, "0 <= alpha <= 1", lambda x: 0 <= x <= 1)
        self.start = whole(self.name, "start", start, 0)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        if not self.phase(epoch):
            self.record_target_probability(batch)
            return -take_labels(log_p, batch.label).mean()
        if self.training:
            self.memory.write(batch.index, self.updated_targets(batch.index, log_p.exp(), self.alpha))
        self.record_target_probability(batch)
        target = self.memory.read(batch.index).to(log_p.dtype)
        return soft_cross_entropy(log_p, target).mean()

    def phase(self, epoch: int) -> bool:
        """Whether targets are learned."""
        return epoch > self.start

    def is_active(self, epoch: int) -> bool:
        return self.phase(epoch)
