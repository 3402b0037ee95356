"""The network of a captured step, without the small kernels that one can do for all layers.

Autocast casts the weights of every layer on their own, and every gradient back; every batch norm counts its
batches on its own. That is three kernels a layer that do next to nothing, and torch.compile does not join
them. Here all weights are cast by one kernel, all gradients by another, all counters are moved on by a third.
The numbers are those of autocast to the last bit (of a compiled network, and of quick convolutions, up to
rounding).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .joint_cast import joint_cast
from .quick_convolutions import quick_convolutions
from .session import Forward, Session

CAST = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
"""Layers whose weight and bias autocast casts; kinds derived from them may do anything."""
COUNTING = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
COUNTER = "num_batches_tracked"
LIBRARY = __name__.split(".")[0]
Change = tuple[dict[str, Any], str, Tensor | None]
"""The parameters or buffers of a module, a name in them, and what stands there for a while."""


@contextmanager
def lean_network(session: Session) -> Iterator[None]:
    """``session.forward`` does its casting and counting for all layers at once, if it knows all of them."""
    plain = session.forward
    if all(_is_known(module) for module in session.model.modules()):
        session.forward = partial(_lean_forward, plain, session.model)
    try:
        yield
    finally:
        session.forward = plain


def _lean_forward(forward: Forward, model: nn.Module, inputs: Tensor) -> Any:
    counting = counting_norms(model)
    counters = [count for norm in counting if (count := norm._buffers[COUNTER]) is not None]
    changes: list[Change] = [(norm._buffers, COUNTER, None) for norm in counting]
    if torch.is_autocast_enabled(inputs.device.type):
        changes += _low_precision(model, torch.get_autocast_dtype(inputs.device.type))
    with _changed(changes), quick_convolutions(model, inputs.device):
        found = forward(inputs)
    if counters:
        torch._foreach_add_(counters, 1)
    return found


def counting_norms(model: nn.Module) -> list[nn.Module]:
    """Layers that count batches and do not look at the count: their momentum is a number."""
    return [
        norm
        for norm in model.modules()
        if type(norm) in COUNTING and norm.training and norm.momentum is not None and not _is_watched(norm)
    ]


def _low_precision(model: nn.Module, dtype: torch.dtype) -> list[Change]:
    places = castable_weights(model)
    copies = joint_cast(list(places), dtype)
    return [
        (layer._parameters, name, copy)
        for copy, users in zip(copies, places.values(), strict=True)
        for layer, name in users
    ]


def castable_weights(model: nn.Module) -> dict[nn.Parameter, list[tuple[nn.Module, str]]]:
    """Every weight that autocast would cast wherever it is used, and the layers that use it."""
    users: dict[nn.Parameter, list[tuple[nn.Module, str]]] = {}
    for layer in model.modules():
        for name, weight in layer._parameters.items():
            if weight is not None:
                users.setdefault(weight, []).append((layer, name))
    return {
        weight: layers
        for weight, layers in users.items()
        if weight.dtype is torch.float32
        and weight.requires_grad
        and all(type(layer) in CAST and not _is_watched(layer) for layer, _ in layers)
    }


def _is_known(module: nn.Module) -> bool:
    """Whether torch or this library wrote it: others may use the weights of their parts as they like."""
    return type(module).__module__.split(".")[0] in ("torch", LIBRARY)


def _is_watched(layer: nn.Module) -> bool:
    """Whether a hook could look at the layer while it runs."""
    return bool(layer._forward_pre_hooks or layer._forward_hooks)


@contextmanager
def _changed(changes: Iterable[Change]) -> Iterator[None]:
    changes = list(changes)
    before = [(store, name, store[name]) for store, name, _ in changes]
    for store, name, value in changes:
        store[name] = value
    try:
        yield
    finally:
        for store, name, value in before:
            store[name] = value
