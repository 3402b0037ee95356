"""``LossMethod``: a loss as a method."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses import CR, Loss, MarginLoss
from .base import Method, Outputs, TrainingInfo


class LossMethod(Method):
    """A loss as a method; ``cr`` without a prior gets the label frequencies of the training data.

    Example:
        >>> from noiseproof import losses
        >>> method = LossMethod(losses.get("mae"))
        >>> method.step(torch.zeros(2, 4), torch.tensor([0, 1]), torch.tensor([5, 6]), epoch=1)
        tensor(1.5000)
    """

    name = "loss"
    accepts_ignored = True
    mixup = "labels"

    def __init__(self, criterion: Loss) -> None:
        super().__init__()
        self.criterion = criterion

    def prepare(self, info: TrainingInfo) -> None:
        counts = torch.bincount(info.label, minlength=info.num_classes)
        for part in self.criterion.modules():
            if isinstance(part, CR) and part.prior is None:
                part.prior = counts / counts.sum()

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        found: Tensor = self.criterion(outputs[0].logits, batch.label, index=batch.index)
        return found

    def phase(self, epoch: int) -> str | None:
        """MarginLosses and losses of this library do not depend on the step; other losses may."""
        parts = [part for part in self.criterion.modules() if isinstance(part, Loss)]
        return "always" if all(map(_is_stateless, parts)) else None

    @property
    def emphasis_follows_margin(self) -> bool:
        return isinstance(self.criterion, MarginLoss) and not self.criterion.compares_rows()

    def __str__(self) -> str:
        return str(self.criterion)


def _is_stateless(part: Loss) -> bool:
    return (
        isinstance(part, MarginLoss)
        or type(part).__module__.partition(".")[0] == __package__.partition(".")[0]
    )
