"""Optimisers by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ..grammar import call

OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, type]]] = {
    "sgd": (torch.optim.SGD, {"nesterov": bool, "dampening": float}),
    "adam": (torch.optim.Adam, {"beta1": float, "beta2": float, "eps": float, "amsgrad": bool}),
    "adamw": (torch.optim.AdamW, {"beta1": float, "beta2": float, "eps": float, "amsgrad": bool}),
}
"""Name to class and the options its spec may have."""


def make_optimizer(
    spec: str, parameters: Iterable[nn.Parameter], *, lr: float, momentum: float, weight_decay: float
) -> torch.optim.Optimizer:
    """The optimiser of a spec; ``momentum`` is used by sgd."""
    name, chosen = parse_optimizer(spec)
    weights = list(parameters)
    chosen |= {"lr": lr, "weight_decay": weight_decay}
    if all(weight.is_cuda for weight in weights):
        chosen["fused"] = True
    if name == "sgd":
        chosen["momentum"] = momentum
    else:
        chosen["betas"] = (chosen.pop("beta1", 0.9), chosen.pop("beta2", 0.999))
        chosen["capturable"] = chosen.get("fused", False)
    try:
        return OPTIMIZERS[name][0](weights, **chosen)
    except ValueError as problem:
        raise ValueError(f"optimizer={spec!r}: {problem}") from None


def restore_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load a state; tensors of the shape of a weight get its memory format, which fused kernels require."""
    optimizer.load_state_dict(state)
    for weight, values in optimizer.state.items():
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and value.shape == weight.shape:
                values[name] = torch.empty_like(weight, requires_grad=False).copy_(value)


def parse_optimizer(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and options.

    Example:
        >>> parse_optimizer("sgd(nesterov=True)")
        ('sgd', {'nesterov': True})
    """
    name, found = call(spec, "optimizer", {name: kinds for name, (_, kinds) in OPTIMIZERS.items()})
    for word, value in found.items():
        kind = OPTIMIZERS[name][1][word]
        if not isinstance(value, bool if kind is bool else (int, float)) or isinstance(value, bool) != (
            kind is bool
        ):
            raise TypeError(f"{name}: {word}={value!r} must be a {kind.__name__}")
    return name, found
