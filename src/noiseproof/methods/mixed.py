"""Mixup: a network sees weighted means of pairs of inputs, and its loss is of both labels.

.. math:: x_i\\leftarrow\\lambda x_i+(1-\\lambda)x_j,\\qquad t_i=\\lambda e_{y_i}+(1-\\lambda)e_{y_j}

j is the partner of i in the batch; :math:`\\lambda\\ge\\frac12` is the same for the whole batch, so that
an input is mostly that of i.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..data import Batch
from .base import Method, Outputs
from .probabilities import log_probabilities, picked


class Mixed(NamedTuple):
    """How the inputs of a batch were mixed: ``Outputs.extra`` of each network in such a step.

    Shape:
        partner (B,) int64, positions in the batch; unmixed (B, C)
    """

    partner: Tensor
    share: float
    """Weight of a sample in its own input, from 1/2 to 1."""
    unmixed: Tensor | None = None
    """Logits for the inputs as they were, without a gradient, of the network with averaged weights if there
    is one; None unless the method ``needs_unmixed``."""

    def to(self, device: torch.device | str) -> Mixed:
        """The same on another device."""
        return self._replace(partner=self.partner.to(device))

    def apply(self, values: Tensor) -> Tensor:
        """The rows (B, ...) mixed as the inputs were.

        >>> Mixed(torch.tensor([1, 0]), share=0.75).apply(torch.tensor([[4.0], [0.0]]))
        tensor([[3.],
                [1.]])
        """
        return values if self.share == 1 else values.lerp(values[self.partner], 1 - self.share)


def cross_entropy(output: Outputs, label: Tensor) -> Tensor:
    """The cross entropy of each sample, for its mixed label where inputs are mixed.

    Shape:
        label (B,); result (B,)
    """
    log_p, mix = log_probabilities(output.logits), output.extra
    rows = -picked(log_p, label)
    if not isinstance(mix, Mixed) or mix.share == 1:
        return rows
    return mix.share * rows - (1 - mix.share) * picked(log_p, label[mix.partner])


def loss_of_step(method: Method, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
    """``method.loss``; where inputs are mixed and it is linear in the labels, its mean over both."""
    mix = outputs[0].extra
    if method.mixup != "labels" or not isinstance(mix, Mixed) or mix.share == 1:
        return method.loss(outputs, batch, epoch)
    other = batch._replace(label=batch.label[mix.partner], index=batch.index[mix.partner])
    own, theirs = method.loss(outputs, batch, epoch), method.loss(outputs, other, epoch)
    return mix.share * own + (1 - mix.share) * theirs


def mixed_of(outputs: tuple[Outputs, ...], method: Method) -> tuple[Mixed, tuple[Tensor, ...]]:
    """The mix and the unmixed logits of each network, for methods that need these."""
    found = [one.extra for one in outputs]
    parts = [one for one in found if isinstance(one, Mixed) and one.unmixed is not None]
    if len(parts) < len(outputs):
        raise TypeError(
            f"{method.name} needs the logits of unmixed inputs: give Outputs(logits, extra=Mixed(partner,"
            " share, unmixed)) for each network"
        )
    return parts[0], tuple(part.unmixed for part in parts if part.unmixed is not None)
