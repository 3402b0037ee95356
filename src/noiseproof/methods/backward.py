"""Backward correction: a weighted sum of the losses of all classes that is unbiased under noise."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from .base import Outputs, TrainingInfo, not_prepared
from .probabilities import log_probabilities
from .transition import TransitionMethod

WORST = 1e6
"""Largest condition number: beyond it float32 losses are mostly rounding."""


class Backward(TransitionMethod):
    r"""Backward correction: losses are multiplied by the inverse of a given transition matrix T.

    Loss:
        :math:`-\sum_k (T^{-1})_{yk}\log p_k`; its mean over given labels drawn from T is the cross entropy
        of the clean label, whatever p is
    Limits:
        T must be invertible. The loss is unbounded below as soon as :math:`T^{-1}` has negative entries,
        so long training may diverge, worse the more noise there is: see :class:`Forward`.
    Deviations:
        The matrix is given and never estimated here; the paper estimates it with a first network.
    Shape:
        logits (B, C); transition (C, C), see :class:`TransitionMethod`
    Example:
        >>> method = Backward(transition=torch.tensor([[0.75, 0.25], [0.0, 1.0]]))
        >>> method.prepare(TrainingInfo(torch.tensor([1]), torch.tensor([0]), 2, None, epochs=1, seed=0))
        >>> method.inverse
        tensor([[ 1.3333, -0.3333],
                [ 0.0000,  1.0000]])

    Reference:
        Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach,
        CVPR 2017
    """

    name = "backward"
    same_every_epoch = True
    inverse: Tensor | None

    def __init__(self, *, transition: object = None) -> None:
        super().__init__(transition)
        self.register_buffer("inverse", None)

    def prepare(self, info: TrainingInfo) -> None:
        found = self.matrix(info)
        condition = float(torch.linalg.cond(found))
        if not condition < WORST:
            raise ValueError(
                f"backward: the matrix cannot be inverted (condition number {condition:.3g}): use forward,"
                " which needs no inverse, or mix the matrix with the identity"
            )
        self.inverse = torch.linalg.inv(found).float().to(info.label.device)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        if self.inverse is None:
            raise not_prepared(self)
        log_p = log_probabilities(outputs[0].logits)
        return -(self.inverse.to(log_p.dtype)[batch.label] * log_p).sum(1).mean()
