"""SOP: per-sample parameters model the label noise of each sample."""

from __future__ import annotations

import torch
from torch import Tensor

from ..counter import draw, shifted_right
from ..data import Batch
from ..losses.checks import number
from .base import Outputs, TrainingInfo
from .memory import MemoryMethod
from .probabilities import log_probabilities, one_hot, take_labels

STREAM = 0x534F50
"""Stream of random numbers of the initial parameters."""
EDGE = 1e-4


class SOP(MemoryMethod):
    r"""Sparse over-parametrisation: parameters of each sample absorb labels that contradict the network.

    Loss:
        With y one-hot, :math:`s = u^2 y - v^2(1-y)` of the sample's own u and v, and
        :math:`q = (p+s)/\sum_k(p+s)_k`, the mean over the batch of
        :math:`-\log q_y + \|e+s-y\|^2`, e being the one-hot prediction
    Parameters of samples:
        u and v begin near zero. They learn by plain gradient descent with rates ``lr_u`` and ``lr_v`` that no
        schedule changes, u from the first term and v from the second: near zero the gradient of a
        square is proportional to the number itself, so that only few of them grow: those of samples whose
        label contradicts the network in epoch after epoch.
    Deviations:
        As in the public code, :math:`u^2, v^2` are kept in [0, 1 - 1e-4] and :math:`p+s` above 1e-4
        before it is normalised. SOP+ (two views that must agree, a balance of classes) is not included.
    Settings:
        with batches of 128, CIFAR-10 ``lr_u=10, lr_v=10``, CIFAR-100 ``lr_u=1, lr_v=10``; under asymmetric
        noise ``lr_v=100``. These rates are for long runs; in short ones v needs larger rates to grow.
    Needs:
        no noise rate and no clean data
    Shape:
        logits (B, C); memory (N, 1 + C): u, then v
    Example:
        >>> method = SOP(lr_u=1.0, lr_v=1.0)
        >>> method.prepare(TrainingInfo(torch.tensor([0]), torch.tensor([0]), 2, None, epochs=1, seed=0))
        >>> zero = torch.tensor([0])
        >>> method.step(torch.tensor([[0.0, 4.0]]), zero, zero, epoch=1)
        tensor(6.0181)

    Reference:
        Liu et al., Robust Training under Label Noise by Over-parameterization, ICML 2022; public code
        shengliu66/SOP
    """

    name = "sop"
    same_every_epoch = True

    def __init__(self, *, lr_u: float = 1.0, lr_v: float = 10.0, scale: float = 1e-8) -> None:
        super().__init__()
        self.lr_u = number(self.name, "lr_u", lr_u, "lr_u >= 0", lambda x: x >= 0)
        self.lr_v = number(self.name, "lr_v", lr_v, "lr_v >= 0", lambda x: x >= 0)
        self.scale = number(self.name, "scale", scale, "scale > 0", lambda x: x > 0)

    def prepare(self, info: TrainingInfo) -> None:
        columns = 1 + info.num_classes
        numbers = [_normal(info.index, info.seed, column) for column in range(columns)]
        self.create_table(info, self.scale * torch.stack(numbers, 1))

    def loss(self, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
        p = log_probabilities(outputs[0].logits).exp()
        own = self.memory.read(batch.index).to(p.dtype)
        if self.training:
            self._learn(own, p.detach(), batch)
        cross_entropy, square = self._terms(own, p, batch.label)
        return cross_entropy + square

    def _learn(self, own: Tensor, p: Tensor, batch: Batch) -> None:
        """One step of gradient descent for u and v of these samples."""
        with torch.enable_grad():
            leaf = own.detach().requires_grad_()
            cross_entropy, square = self._terms(leaf, p, batch.label)
            (of_u,) = torch.autograd.grad(cross_entropy, leaf, retain_graph=True)
            (of_v,) = torch.autograd.grad(square, leaf)
        moved = torch.cat([self.lr_u * of_u[:, :1], self.lr_v * of_v[:, 1:]], 1)
        self.memory.write(batch.index, own.detach() - moved)

    def _terms(self, own: Tensor, p: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """The cross entropy and the squared error."""
        y = one_hot(label, p.shape[1], p.dtype)
        u, v = (
            (own[:, :1].square() * y).clamp(0, 1 - EDGE),
            (own[:, 1:].square() * (1 - y)).clamp(0, 1 - EDGE),
        )
        explained = (p + u - v).clamp_min(EDGE)
        log_q = explained.log() - explained.sum(1, keepdim=True).log()
        decided = one_hot(p.detach().argmax(1), p.shape[1], p.dtype)
        return -take_labels(log_q, label).mean(), (decided + u - v - y).square().sum(1).mean()


def _normal(index: Tensor, seed: int, column: int) -> Tensor:
    """A normal random number for every sample, by the Box-Muller transform."""
    bits = (draw(seed=seed, epoch=part, index=index, stream=STREAM + column) for part in (0, 1))
    first, second = (shifted_right(drawn, 40).float() * 2**-24 for drawn in bits)
    return (-2 * torch.log1p(-first)).sqrt() * (2 * torch.pi * second).cos()
