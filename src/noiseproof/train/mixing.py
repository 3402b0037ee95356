"""Mixup of the inputs of a step, and the running mean of weights."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from ..methods import Method, Mixed
from .config import Config

STREAM = 0x4D4958


def mixup_of(config: Config, method: Method) -> float:
    """Parameter of mixup: that of the config, or the one the method usually has; 0 is none."""
    alpha = method.usual_mixup if config.mixup is None else config.mixup
    if alpha and method.mixup is None:
        raise ValueError(
            f"mixup={alpha:g} cannot be used with {method.name}, which remembers what the network says of"
            " each sample by itself: leave out mixup, or use a loss, co_teaching, elr_plus or divide_mix"
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
    """What networks say in evaluation mode; their modes stay as they are."""
    found = []
    for network in networks:
        modes = {module: module.training for module in network.modules()}
        network.eval()
        found.append(network(inputs).float())
        for module, training in modes.items():
            module.training = training
    return found
