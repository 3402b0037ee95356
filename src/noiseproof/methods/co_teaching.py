"""Co-teaching: each of two networks selects the training samples of the other."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Evaluation, Method, Outputs, TrainingInfo
from .mixed import cross_entropy


def smallest(rows: Tensor, share: Tensor) -> Tensor:
    """Mask of the given share of rows with the smallest losses, at least one.

    Shape:
        rows (B,), share (); result (B,) bool
    Example:
        >>> smallest(torch.tensor([3.0, 1.0, 2.0, 4.0]), torch.tensor(0.5))
        tensor([False,  True,  True, False])
    """
    kept = (share * len(rows) + 1e-4).floor().clamp_min(1)  # 0.6 of 10 is 5.9999998 in float32
    return rows.argsort(stable=True).argsort() < kept


class CoTeaching(Method):
    r"""Co-teaching: each of two networks learns from the samples with small losses in the other.

    Loss:
        of each network the mean cross entropy over the :math:`R\cdot B` samples of the batch whose loss is
        smallest *for the other network*; the sum over both networks
    Schedule:
        :math:`R = 1-\tau\min(e^c/E, 1)` in epoch e, with :math:`\tau` the noise rate, c = ``exponent`` and
        E = ``gradual``: all samples at first, while networks learn what is easy
    Noise rate:
        ``noise_rate``, or, if it is left out, one minus the highest accuracy so far on validation data with
        given labels. That accuracy stays below the share of right labels, so the rate is never estimated
        too low; it falls as the networks improve.
    Deviations:
        The public code begins its schedule at 0 in an epoch that it skips and divides the mean by the
        number of samples a second time; here the schedule is that of the paper, and the loss a mean.
    Needs:
        two networks, and the noise rate or a validation split
    Settings:
        ``gradual=10`` of 200 epochs
    Shape:
        logits (B, C) of each network; memory: one number
    Example:
        >>> one, two = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([[0.0, 3.0], [3.0, 0.0]])
        >>> batch = Batch(one, torch.tensor([0, 0]), torch.tensor([0, 1]))
        >>> method = CoTeaching(noise_rate=0.5, gradual=1)
        >>> method.loss((Outputs(one), Outputs(two)), batch, epoch=1)  # 2.1269 + 3.0486
        tensor(5.1755)

    Reference:
        Han et al., Co-teaching: Robust Training of Deep Neural Networks with Extremely Noisy Labels,
        NeurIPS 2018; public code bhanML/Co-teaching
    """

    name = "co_teaching"
    networks = 2
    mixup = "own"
    forgotten: Tensor

    def __init__(self, *, noise_rate: float | None = None, gradual: int = 10, exponent: float = 1.0) -> None:
        super().__init__()
        given = 0.0 if noise_rate is None else noise_rate
        given = number(self.name, "noise_rate", given, "0 <= noise_rate < 1", lambda x: 0 <= x < 1)
        self.noise_rate = None if noise_rate is None else given
        self.gradual = whole(self.name, "gradual", gradual, 1)
        self.exponent = number(self.name, "exponent", exponent, "exponent > 0", lambda x: x > 0)
        self.register_buffer("forgotten", torch.tensor(given))

    def prepare(self, info: TrainingInfo) -> None:
        if self.noise_rate is None and not info.validation:
            raise ValueError(
                "co_teaching needs the noise rate: give it, such as noise_rate=0.4, or validation=0.1 to"
                " estimate it"
            )

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        one, two = (cross_entropy(output, batch.label) for output in outputs)
        share = 1 - self.forgotten * self.phase(epoch)
        chosen = smallest(one.detach(), share), smallest(two.detach(), share)
        return _mean_of(one, chosen[1]) + _mean_of(two, chosen[0])

    def phase(self, epoch: int) -> float:
        """Progress of the schedule, from 0 to 1."""
        return min(float(epoch**self.exponent) / self.gradual, 1.0)

    def between_epochs(self, evaluation: Evaluation, epoch: int) -> None:
        if self.noise_rate is None and evaluation.validation_accuracy is not None:
            wrong, before = 1 - evaluation.validation_accuracy, float(self.forgotten)
            self.forgotten.fill_(min(wrong, before) if before else wrong)


def _mean_of(rows: Tensor, chosen: Tensor) -> Tensor:
    return torch.where(chosen, rows, 0).sum() / chosen.sum()
