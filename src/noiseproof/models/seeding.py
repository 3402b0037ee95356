"""Initial weights as a function of a seed, and initialisation schemes for convolutions."""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch import nn


def build(make: Callable[[], nn.Module], seed: int | None) -> nn.Module:
    """``make()`` with weights drawn from ``seed``, without changing the global random state.

    They are drawn on the CPU and then moved to torch's default device, so that they do not
    depend on it. With ``seed=None`` they are drawn from the global state, as usual in torch.

    >>> first, second = (build(lambda: nn.Linear(2, 1), seed=3) for _ in range(2))
    >>> bool((first.weight == second.weight).all())
    True
    """
    if seed is None:
        return make()
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be a whole number or None, got {seed!r}") from None
    if not 0 <= number < 2**63:
        raise ValueError(f"seed={seed} is out of range, it must satisfy 0 <= seed < 2**63")
    device = torch.get_default_device()
    if device.type == "meta":
        return make()
    # torch.manual_seed would seed the accelerators as well, and fork_rng restores only the CPU here.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(number)
        model = make()
    return model.to(device)


def he_normal(model: nn.Module) -> None:
    r"""Convolutions :math:`N(0, 2/\text{fan}_{out})`, their biases 0: ResNets and VGG.

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def he_uniform(model: nn.Module) -> None:
    r"""Convolutions :math:`U(\pm\sqrt{6/\text{fan}_{in}})`, linear layers Xavier uniform: the small CNNs.

    Reference:
        The public code of Normalized Loss Functions (Ma et al., ICML 2020) and of Asymmetric Loss
        Functions (Zhou et al., ICML 2021)
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_uniform_(module.weight, mode="fan_in", nonlinearity="relu")
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
