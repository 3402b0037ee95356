"""Initial weights as a function of a seed alone."""

import operator
from collections.abc import Callable

import torch
from torch import nn


def build(make: Callable[[], nn.Module], seed: int | None) -> nn.Module:
    """``make()`` with weights drawn from ``seed``; no random state of the process changes.

    They are drawn on the CPU and then moved to torch's default device, so that the device does not
    matter. ``seed=None`` is torch's own way: drawn from, and advancing, the global state.

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
