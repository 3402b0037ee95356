"""MentorNet's predefined curriculum: weights of samples by their loss, in three stages."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number
from .base import Outputs, TrainingInfo, not_prepared
from .mixed import cross_entropy
from .self_paced import LossThreshold

ALL, EASY, LINEAR = "all", "easy", "linear"


class MentorNetPD(LossThreshold):
    r"""MentorNet PD: sample weights by a predefined curriculum.

    Loss:
        :math:`-v\log p_y`, averaged over the batch. With :math:`\ell=-\log p_y` and :math:`\lambda_1` the
        running quantile of the losses at ``percentile``, v is
        1 in the first ``burn_in`` of the run; :math:`1[\ell\le\lambda_1]` after it; and
        :math:`\min(1, \max(0, 1-(\ell-\lambda_1)/\lambda_2))` from ``linear`` of the run on. Each
        minimises :math:`v\ell + \frac{\lambda_2}2v^2-(\lambda_1+\lambda_2)v` over [0, 1], with
        :math:`\lambda_2=0` in the second.
    Deviations:
        The public code learns these weights by a small network first; here they are computed. There
        random halves of the batch also have weight 0 in the first 17% of the steps and 5% of it later:
        that is left out. MentorNet DD, which learns the curriculum from clean labels, is not included.
    Needs:
        the approximate noise rate: ``percentile`` should be one minus it, or less
    Shape:
        logits (B, C); threshold ()
    Example:
        >>> method = MentorNetPD(percentile=0.5, burn_in=0.0)
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=9, seed=0))
        >>> logits, label = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0])
        >>> method.step(logits, label, torch.arange(2), epoch=1)
        tensor(0.0635)

    Reference:
        Jiang et al., MentorNet: Learning Data-Driven Curriculum for Very Deep Neural Networks on Corrupted
        Labels, ICML 2018, equations 5 and 6; public code google/mentornet
    """

    name = "mentornet_pd"

    def __init__(
        self,
        *,
        percentile: float = 0.75,
        lambda2: float = 1.0,
        burn_in: float = 0.19,
        linear: float = 0.9,
        decay: float = 0.5,
    ) -> None:
        super().__init__(decay)
        self.percentile = number(
            self.name, "percentile", percentile, "0 < percentile <= 1", lambda x: 0 < x <= 1
        )
        self.lambda2 = number(self.name, "lambda2", lambda2, "lambda2 > 0", lambda x: x > 0)
        self.burn_in = number(self.name, "burn_in", burn_in, "0 <= burn_in <= 1", lambda x: 0 <= x <= 1)
        self.linear = number(
            self.name, "linear", linear, "burn_in <= linear <= 1", lambda x: self.burn_in <= x <= 1
        )
        self.epochs: int | None = None

    def prepare(self, info: TrainingInfo) -> None:
        self.epochs = info.epochs

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        if self.epochs is None:
            raise not_prepared(self)
        rows = cross_entropy(outputs[0], batch.label)
        threshold, stage = self.updated_threshold(rows, self.percentile), self.phase(epoch)
        if stage == ALL:
            return rows.mean()
        if stage == EASY:
            return torch.where(rows.detach() <= threshold, rows, 0).mean()
        weight = (1 - (rows.detach() - threshold) / self.lambda2).clamp(0, 1)
        return (weight * rows).mean()

    def phase(self, epoch: int) -> str:
        """The stage of the curriculum, which determines the weights."""
        done = (epoch - 1) / (self.epochs or 1)
        if done < self.burn_in:
            return ALL
        return EASY if done < self.linear else LINEAR
