"""S-adaptation: an additional softmax layer learns the transition matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..data import Batch
from ..losses.checks import number
from .base import Outputs, TrainingInfo, check_one_process, not_prepared
from .forward import log_noisy_probability
from .probabilities import log_probabilities
from .transition import TransitionMethod

MIN_PROBABILITY = 1e-4
"""Smallest initial entry; a zero would have no gradient."""


class SAdaptation(TransitionMethod):
    r"""Simple noise adaptation layer: a learned transition matrix after the softmax.

    Loss:
        :math:`-\log(p\theta)_y` with :math:`\theta_{ij} = \mathrm{softmax}_j(b_{ij})`, b learned with the
        network; the network's own p predicts
    Initialisation:
        :math:`\theta` is ``transition`` where one is given, else :math:`1-` ``rate`` on the diagonal and the
        rest spread evenly. The result depends on it: the loss has the same value for a
        permuted solution.
    Deviations:
        The paper begins with the confusion matrix of a network trained before: pass it as ``transition``.
        Entries below 1e-4 begin at 1e-4. The second layer of the paper's complex model, a function of the
        features, is not here. Weight decay on b pulls :math:`\theta` towards uniform rows.
    Shape:
        logits (B, C); parameter b (C, C)
    Example:
        >>> method = SAdaptation(rate=0.25)
        >>> method.prepare(TrainingInfo(torch.tensor([1]), torch.tensor([0]), 2, None, epochs=1, seed=0))
        >>> method.learned()
        tensor([[0.7500, 0.2500],
                [0.2500, 0.7500]])

    Reference:
        Goldberger & Ben-Reuven, Training Deep Neural-Networks Using a Noise Adaptation Layer, ICLR 2017
    """

    name = "s_adaptation"
    same_every_epoch = True
    one_process = True

    def __init__(self, *, transition: object = None, rate: float = 0.1) -> None:
        super().__init__(transition)
        self.rate = number(self.name, "rate", rate, "0 < rate < 1", lambda x: 0 < x < 1)
        self.b: nn.Parameter | None = None

    def prepare(self, info: TrainingInfo) -> None:
        classes = info.num_classes
        others = self.rate / (classes - 1)
        found = others + (1 - self.rate - others) * torch.eye(classes, dtype=torch.float64)
        if self.transition is not None:
            found = self.matrix(info)
        start = found.clamp_min(MIN_PROBABILITY).log().float()
        self.b = nn.Parameter(start.to(info.label.device))

    def learned(self) -> Tensor:
        """(C, C) the current matrix."""
        return self._log_matrix().detach().exp()

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        log_p = log_probabilities(outputs[0].logits)
        return -log_noisy_probability(log_p, self._log_matrix().to(log_p.dtype), batch.label).mean()

    def _log_matrix(self) -> Tensor:
        if self.b is None:
            raise not_prepared(self)
        check_one_process(self)
        return torch.log_softmax(self.b, 1)
