"""Mixup of the inputs of a step, its loss, and averaging of weights."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..data import Batch
from .base import Method, Outputs
from .probabilities import log_probabilities, take_labels


class Mixed(NamedTuple):
    """Partners and weights of mixed inputs; the ``Outputs.extra`` of each network in a step with mixup.

    Shape:
        partner (B,) int64, positions in the batch; unmixed (B, C)
    """

    partner: Tensor
    share: float
    """Weight of a sample in its own input, from 1/2 to 1."""
    unmixed: Tensor | None = None
    """Logits for the unmixed inputs, without gradients, by the network with averaged weights if there is one;
    None unless the method ``needs_unmixed``."""

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
    """The cross entropy of each sample, for its mixed label if inputs are mixed.

    Shape:
        label (B,); result (B,)
    """
    log_p, mix = log_probabilities(output.logits), output.extra
    rows = -take_labels(log_p, label)
    if not isinstance(mix, Mixed) or mix.share == 1:
        return rows
    return mix.share * rows - (1 - mix.share) * take_labels(log_p, label[mix.partner])


def loss_of_step(method: Method, outputs: tuple[Outputs, ...], batch: Batch, epoch: int) -> Tensor:
    """``method.loss``; for mixed inputs and a loss linear in the labels, its weighted mean over both."""
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


STREAM = 0x4D4958


def mixup_of(wanted: float | None, method: Method) -> float:
    """The parameter of mixup, by default that of the method; 0 means no mixup."""
    alpha = method.default_mixup if wanted is None else wanted
    if alpha and method.mixup is None:
        raise ValueError(
            f"mixup={alpha:g} cannot be used with {method.name}, which stores predictions of unmixed samples:"
            " leave out mixup, or use a loss, co_teaching, elr_plus or divide_mix"
        )
    return alpha


def draw_mix(alpha: float, size: int, *, seed: int, epoch: int, batch: int) -> Mixed:
    r"""Partners and :math:`\lambda` of a batch: a function of seed, epoch and number of the batch.

    :math:`\lambda = \max(\beta, 1-\beta)` with :math:`\beta` from Beta(alpha, alpha); without mixup it is 1.

    Example:
        >>> one, again = (draw_mix(1.0, 4, seed=0, epoch=1, batch=0) for _ in range(2))
        >>> one.share == again.share >= 0.5, sorted(one.partner.tolist())
        (True, [0, 1, 2, 3])
    """
    if not alpha:
        return Mixed(torch.arange(size), 1.0)
    generator = np.random.Generator(np.random.Philox(key=[seed, STREAM], counter=[0, 0, epoch, batch]))
    share = float(generator.beta(alpha, alpha))
    return Mixed(torch.from_numpy(generator.permutation(size)), max(share, 1 - share))


class WeightAverage:
    r"""A network whose weights are a running mean of those that are trained.

    After step t of the run, counted from 0, :math:`\bar w\leftarrow d\bar w+(1-d)w` with
    :math:`d=\min(\mathrm{decay}, t/(t+1))`: the plain mean at first. Statistics of batch norm are averaged as
    weights are. The network stays in evaluation mode.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        keep = min(self.decay, step / (step + 1))
        own, theirs = self.model.state_dict(), model.state_dict()
        floating = [name for name, value in own.items() if value.is_floating_point()]
        torch._foreach_lerp_([own[name] for name in floating], [theirs[name] for name in floating], 1 - keep)
        for name in own.keys() - set(floating):
            own[name].copy_(theirs[name])


@torch.no_grad()
def logits_without_gradient(networks: tuple[nn.Module, ...], inputs: Tensor) -> list[Tensor]:
    """Logits of networks without dropout, normalised by the statistics of the batch; modes are restored.

    Running statistics are updated: those of mixed inputs alone would not fit the unmixed ones of a test.
    """
    found = []
    for network in networks:
        modes = {module: module.training for module in network.modules()}
        network.eval()
        for module in modes:
            if isinstance(module, _BatchNorm):
                module.train()
        found.append(network(inputs).float())
        for module, training in modes.items():
            module.training = training
    return found
