"""Self-paced learning: trains on samples with small losses first, then on a growing share."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Method, Outputs
from .mixed import cross_entropy


def quantile(values: Tensor, share: float) -> Tensor:
    """The quantile of values, interpolated linearly, without host synchronisation.

    Shape:
        values (B,); result ()
    Example:
        >>> quantile(torch.tensor([4.0, 0.0, 2.0]), 0.75)
        tensor(3.)
    """
    ordered = values.sort().values
    position = share * (len(values) - 1)
    below = min(int(position), len(values) - 1)
    above = min(below + 1, len(values) - 1)
    return torch.lerp(ordered[below], ordered[above], position - below)


class LossThreshold(Method):
    r"""A method that compares losses with their running quantile, ``threshold``.

    In each batch :math:`\lambda\leftarrow\delta\lambda+(1-\delta)Q_s(\ell)`, with :math:`Q_s` the quantile
    of the losses of the batch and :math:`\delta` = ``decay``; the first batch sets it.
    """

    mixup = "own"
    threshold: Tensor

    def __init__(self, decay: float) -> None:
        super().__init__()
        self.decay = number(self.name, "decay", decay, "0 <= decay < 1", lambda x: 0 <= x < 1)
        self.register_buffer("threshold", torch.tensor(-torch.inf))

    def updated_threshold(self, rows: Tensor, share: float) -> Tensor:
        """The threshold for this batch; in training mode the running quantile is updated."""
        now = quantile(rows.detach(), share).to(self.threshold.dtype)
        is_first = self.threshold == -torch.inf
        if self.training:
            self.threshold.copy_(torch.where(is_first, now, torch.lerp(now, self.threshold, self.decay)))
            return self.threshold
        return torch.where(is_first, now, self.threshold)


class SelfPaced(LossThreshold):
    r"""Self-paced learning: a growing share of the samples, those with the smallest losses.

    Loss:
        :math:`-v\log p_y`, averaged over the batch, with :math:`v = 1[-\log p_y\le\lambda]`: the v that
        minimises :math:`v\ell-\lambda v`
    Threshold:
        :math:`\lambda` follows the quantile of the losses that a share of the samples lies below, as a
        running mean over batches. All samples are used in the first ``warmup`` epochs, in which the network
        learns which are easy; then the share is ``begin``, and grows with every epoch by ``growth`` up to
        ``end``.
    Deviations:
        The paper computes v for the whole data between two trainings to convergence and multiplies
        :math:`\lambda` by 1.3 until all samples are used, which under label noise ends in memorising
        them. Here v is computed batch by batch and samples beyond ``end`` are never used, as in the
        public code of MentorNet, whose self-paced baseline has a constant share.
    Needs:
        the approximate noise rate: ``end`` should be one minus it, or less
    Shape:
        logits (B, C); threshold ()
    Example:
        >>> method = SelfPaced(begin=0.5, warmup=0)
        >>> logits, label = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0])
        >>> method.step(logits, label, torch.arange(2), epoch=1)
        tensor(0.0635)

    Reference:
        Kumar, Packer & Koller, Self-Paced Learning for Latent Variable Models, NIPS 2010; as a baseline:
        Jiang et al., MentorNet, ICML 2018, public code google/mentornet
    """

    name = "self_paced"

    def __init__(
        self,
        *,
        begin: float = 0.5,
        end: float = 0.7,
        growth: float = 0.02,
        warmup: int = 5,
        decay: float = 0.5,
    ) -> None:
        super().__init__(decay)
        self.begin = number(self.name, "begin", begin, "0 < begin <= 1", lambda x: 0 < x <= 1)
        self.end = number(self.name, "end", end, "begin <= end <= 1", lambda x: self.begin <= x <= 1)
        self.growth = number(self.name, "growth", growth, "growth >= 0", lambda x: x >= 0)
        self.warmup = whole(self.name, "warmup", warmup, 0)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        rows = cross_entropy(outputs[0], batch.label)
        warms_up, share = self.phase(epoch)
        threshold = self.updated_threshold(rows, share)
        return (rows if warms_up else torch.where(rows.detach() <= threshold, rows, 0)).mean()

    def phase(self, epoch: int) -> tuple[bool, float]:
        """Whether all samples are used, and the share that the threshold follows."""
        after = max(epoch - self.warmup, 1)
        return epoch <= self.warmup, min(self.end, self.begin + self.growth * (after - 1))
