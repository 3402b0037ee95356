"""ELR+: two networks, each regularised towards the running mean of the other one's predictions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..data import Batch
from ..losses.checks import number, whole
from .base import Outputs, TrainingInfo
from .elr import EDGE
from .memory import MemoryMethod
from .mixed import mixed_of
from .probabilities import log_probabilities, one_hot, soft_cross_entropy
from .spec import switch


class ELRPlus(MemoryMethod):
    r"""Early-learning regularisation with two networks, mixup and averaged weights.

    Loss:
        of network k on mixed inputs with mixed labels q,
        :math:`-\sum_c q_c\log p_c+\lambda\,r\,\log(1-\langle t,p\rangle)`; the sum over both networks
    Targets:
        t is the running mean, mixed as the inputs are, of the predictions of *the other* network with
        averaged weights for the unmixed sample: :math:`t_i\leftarrow\beta t_i+(1-\beta)\bar p_i`, updated
        before each use
    Ramp:
        :math:`r = e^{-5(1-\min(e/E,1))^2}` in epoch e with E = ``ramp``; 1 if that is 0
    Refined labels:
        with ``refine=True``, which the public code does for 100 classes, q is multiplied by t and divided
        by its sum
    Deviations:
        The public code trains one network for an epoch, then the other, on separate batches and
        mixtures; here both use the same, and E counts epochs instead of steps. On CIFAR its decay of the
        averages grows from near 0 over 40,000 steps; here they are plain means at first, as there on
        Clothing1M.
    Needs:
        two networks, their averages (``weight_average``) and mixup (``mixup``): with neither setting given
        it takes those of the paper, 0.997 and 1
    Settings:
        CIFAR-10 ``beta=0.7, lam=3.0``; CIFAR-100 ``beta=0.9, lam=7.0, refine=True``
    Shape:
        logits (B, C) of each network; memory t (N, 2, C), zero at first
    Example:
        >>> from noiseproof.methods import Mixed
        >>> method, zero = ELRPlus(), torch.tensor([0])
        >>> method.prepare(TrainingInfo(zero, zero, 2, None, epochs=1, seed=0))
        >>> mix = Mixed(zero, share=1.0, unmixed=torch.zeros(1, 2))
        >>> one = Outputs(torch.zeros(1, 2), extra=mix)
        >>> method.loss((one, one), Batch(torch.zeros(1, 1), zero, zero), epoch=1)  # 2 * 0.2056
        tensor(0.4112)

    Reference:
        Liu et al., Early-Learning Regularization Prevents Memorization of Noisy Labels, NeurIPS 2020;
        public code shengliu66/ELR
    """

    name = "elr_plus"
    networks = 2
    mixup = "own"
    default_mixup = 1.0
    default_average = 0.997
    needs_unmixed = True

    def __init__(self, *, beta: float = 0.7, lam: float = 3.0, ramp: int = 0, refine: bool = False) -> None:
        super().__init__()
        self.beta = number(self.name, "beta", beta, "0 <= beta < 1", lambda x: 0 <= x < 1)
        self.lam = number(self.name, "lam", lam, "lam >= 0", lambda x: x >= 0)
        self.ramp = whole(self.name, "ramp", ramp, 0)
        self.refine = switch(self.name, "refine", refine)

    def prepare(self, info: TrainingInfo) -> None:
        size = (len(info.label), self.networks, info.num_classes)
        self.create_table(info, torch.zeros(size, device=info.label.device))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        mix, unmixed = mixed_of(outputs, self)
        parts = []
        for number_of, (output, seen) in enumerate(zip(outputs, reversed(unmixed), strict=True)):
            log_p = log_probabilities(output.logits)
            target = mix.apply(self._updated(seen, batch, number_of)).to(log_p.dtype)
            label = mix.apply(one_hot(batch.label, log_p.shape[1], log_p.dtype))
            if self.refine:
                label = label * target
                label = label / label.sum(1, keepdim=True).clamp_min(torch.finfo(label.dtype).tiny)
            p = log_p.exp().clamp(EDGE, 1 - EDGE)
            agreement = (target * p).sum(1)
            rows = soft_cross_entropy(log_p, label) + self.lam * self.phase(epoch) * torch.log1p(-agreement)
            parts.append(rows.mean())
        return parts[0] + parts[1]

    def _updated(self, seen: Tensor, batch: Batch, network: int) -> Tensor:
        """The targets of these samples, updated by the current predictions of the other network."""
        if self.training:
            before = self.memory.read(batch.index)[:, network]
            self.memory.write(batch.index, torch.lerp(seen.softmax(1), before, self.beta), at=network)
        return self.memory.read(batch.index)[:, network]

    def phase(self, epoch: int) -> float:
        """Weight of the regularisation term."""
        return math.exp(-5 * (1 - min(epoch / self.ramp, 1.0)) ** 2) if self.ramp else 1.0

    def final_outputs(self) -> dict[str, Tensor]:
        """``target`` (N, C), the mean of those of both networks, in the order of the training data."""
        return {"target": self.memory.values.mean(1).half()}
