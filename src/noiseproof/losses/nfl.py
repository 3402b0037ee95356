"""Normalised focal loss: focal loss divided by the sum of its values for all classes."""

from __future__ import annotations

from torch import Tensor
from typing_extensions import Unpack

from .. import kernels
from ..kernels import RowFunction, check_logits_finite
from .base import Loss, Outer
from .checks import number
from .focal import Focal
from .rows import Rows


class NFL(Loss):
    r"""Normalised focal loss.

    Loss:
        :math:`(1-p_y)^\gamma\log p_y / \sum_k (1-p_k)^\gamma\log p_k`
    Emphasis:
        not of the margin alone
    Limits:
        :math:`\gamma\ge 0`; 0 is :class:`~noiseproof.losses.NCE`
    Shape:
        logits (N, C, ...), target (N, ...) or soft (N, C, ...)
    Example:
        >>> import torch
        >>> NFL()(torch.zeros(1, 4), torch.tensor([0]))
        tensor(0.2500)

    Reference:
        Ma et al., Normalized Loss Functions for Deep Learning with Noisy Labels, ICML 2020
    """

    name = "nfl"
    why_no_row_function = "it sums over all classes of a row"

    def __init__(self, *, gamma: float = 0.5, **outer: Unpack[Outer]) -> None:
        super().__init__(**outer)
        self.gamma = number(self.name, "gamma", gamma, "gamma >= 0", lambda g: g >= 0)
        self.focal = Focal(gamma=self.gamma)

    def hard_rows(self, rows: Rows) -> Tensor:
        gradient = kernels.class_gradient(self._function(rows.logits), kernels.normalised)
        return kernels.by_blocks(self._of_label, rows.logits, rows.target, rows.keep, gradient)

    def class_rows(self, logits: Tensor, mass: Tensor) -> Tensor:
        check_logits_finite(logits)
        focal = kernels.class_values(self._function(logits), logits)
        return focal / focal.sum(1, keepdim=True)

    def _of_label(self, logits: Tensor, target: Tensor) -> Tensor:
        return self.class_rows(logits, logits).gather(1, target.unsqueeze(1)).squeeze(1)

    def _function(self, logits: Tensor) -> RowFunction:
        function = self.focal.row_function(logits.shape[1])
        assert function is not None
        return function
