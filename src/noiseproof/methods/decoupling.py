"""Decoupling: two networks learn only from the samples on which they disagree."""

from __future__ import annotations

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Method, Outputs
from .mixed import cross_entropy


class Decoupling(Method):
    r"""Decoupling: two networks learn from the samples on which they disagree.

    Loss:
        of each network :math:`\frac{1}{\max(n, mB)}\sum_i v_i\ell_i`, with :math:`\ell_i=-\log p_y` its own
        cross entropy, :math:`v_i = 1` where the two networks predict different classes, n the number of
        such samples and m = ``least``; the sum over both networks
    Warm-up:
        all samples are used in the first ``warmup`` epochs; as the networks become similar, fewer samples
        are used
    Deviations:
        The public code waits a number of steps, here ``warmup`` counts epochs. Its weights for two classes
        of different size are left out.
    Needs:
        two networks; no noise rate
    Shape:
        logits (B, C) of each network; no memory
    Example:
        >>> one, two = torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> batch = Batch(one, torch.tensor([0, 0]), torch.tensor([0, 1]))
        >>> Decoupling().loss((Outputs(one), Outputs(two)), batch, epoch=1)  # 0.1269 + 2.1269
        tensor(2.2539)

    Reference:
        Malach & Shalev-Shwartz, Decoupling "when to update" from "how to update", NIPS 2017; public code
        emalach/UpdateByDisagreement
    """

    name = "decoupling"
    networks = 2
    mixup = "own"

    def __init__(self, *, warmup: int = 0, least: float = 0.1) -> None:
        super().__init__()
        self.warmup = whole(self.name, "warmup", warmup, 0)
        self.least = number(self.name, "least", least, "0 < least <= 1", lambda x: 0 < x <= 1)

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        one, two = (cross_entropy(output, batch.label) for output in outputs)
        rows = one + two
        if self.phase(epoch):
            return rows.mean()
        differ = outputs[0].logits.argmax(1) != outputs[1].logits.argmax(1)
        count = differ.sum().clamp_min(self.least * len(rows))
        return torch.where(differ, rows, 0).sum() / count

    def phase(self, epoch: int) -> bool:
        """Whether all samples are used."""
        return epoch <= self.warmup
