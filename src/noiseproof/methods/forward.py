"""Forward correction: multiply the predicted probabilities by the transition matrix before the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number
from .base import Outputs, TrainingInfo, not_prepared
from .probabilities import log_probabilities
from .transition import TransitionMethod


def log_noisy_probability(log_p: Tensor, log_transition: Tensor, label: Tensor) -> Tensor:
    r""":math:`\log(pT)_y = \log\sum_i p_i T_{iy}`, (B,), in log space.

    Shape:
        log_p (B, C), log_transition (C, C), label (B,)
    Example:
        >>> log_t = torch.tensor([[0.75, 0.25], [0.0, 1.0]]).log()
        >>> log_noisy_probability(torch.tensor([[0.0, -1e4]]), log_t, torch.tensor([1])).exp()
        tensor([0.2500])
    """
    return torch.logsumexp(log_p + log_transition.t()[label], 1)


class Forward(TransitionMethod):
    r"""Forward correction: predictions are multiplied by a given transition matrix T.

    Loss:
        :math:`-\log(pT)_y + \beta\,(-A)(1-(pT)_y)`, :math:`\beta` = ``rce``; the network's own p predicts
    Deviations:
        The matrix is given and never estimated here; the paper estimates it with a first network. On
        Clothing1M Wang et al. take it from the images with a noisy and a clean label, which
        ``transition="clothing1m"`` counts.
        "Forward + SL" of Wang et al. adds the RCE term "to the Forward loss" without saying on which
        probabilities: here on :math:`pT`, those the given labels are compared with. They use
        ``rce=1.0`` under symmetric and ``rce=0.1`` under asymmetric noise.
    Shape:
        logits (B, C); transition (C, C), see :class:`TransitionMethod`
    Example:
        >>> method = Forward(transition=torch.tensor([[0.75, 0.25], [0.0, 1.0]]))
        >>> method.prepare(TrainingInfo(torch.tensor([1]), torch.tensor([0]), 2, None, epochs=1, seed=0))
        >>> method.step(torch.tensor([[9.0, 0.0]]), torch.tensor([1]), torch.tensor([0]), epoch=1).exp()
        tensor(3.9985)

    Reference:
        Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach,
        CVPR 2017; Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019,
        Table 2
    """

    name = "forward"
    same_every_epoch = True
    log_transition: Tensor | None

    def __init__(self, *, transition: object = None, rce: float = 0.0, A: float = -4.0) -> None:
        super().__init__(transition)
        self.rce = number(self.name, "rce", rce, "rce >= 0", lambda x: x >= 0)
        self.A = number(self.name, "A", A, "A < 0", lambda x: x < 0)
        self.register_buffer("log_transition", None)

    def prepare(self, info: TrainingInfo) -> None:
        self.log_transition = self.matrix(info).log().float().to(info.label.device)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        if self.log_transition is None:
            raise not_prepared(self)
        log_p = log_probabilities(outputs[0].logits)
        log_noisy = log_noisy_probability(log_p, self.log_transition.to(log_p.dtype), batch.label)
        rows = self.rce * self.A * torch.expm1(log_noisy) - log_noisy if self.rce else -log_noisy
        return rows.mean()
