"""The network of a captured step: fewer and faster kernels, the same results.

Autocast casts the weights of each layer separately, and each gradient back; each batch norm increments its
own counter. These are three tiny kernels per layer, and torch.compile does not fuse them across layers.
``joint_casts`` casts all weights with one kernel, all gradients with a second, and increments all counters
with a third; results equal those of autocast bit for bit. Long runs also compile the network, which changes
results by rounding, as the convolutions of :mod:`.convolution` do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .convolution import fast_convolutions

CAST = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)
"""Layers whose weight and bias autocast casts; subclasses may use them otherwise."""
COUNTING = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
COUNTER = "num_batches_tracked"
LIBRARY = __name__.split(".")[0]
Change = tuple[dict[str, Any], str, Tensor | None]
"""The parameters or buffers of a module, a name in them, and its temporary value."""
MIN_STEPS_TO_COMPILE = 20_000
"""Shortest run for which the network is compiled, which takes half a minute once per process."""
Result = TypeVar("Result")
Forward = Callable[[Tensor], Any]


class TrainingSession(Protocol):
    """The attributes of a session that this module uses: network, its call, and number of steps."""

    model: nn.Module
    forward: Forward
    device: torch.device
    bounds: list[tuple[int, int]]

    @property
    def steps(self) -> int: ...


@contextmanager
def joint_casts(session: TrainingSession) -> Iterator[None]:
    """Let ``session.forward`` cast weights and increment counters of all layers at once, if it can."""
    plain = session.forward
    if all(_is_known(module) for module in session.model.modules()):
        session.forward = partial(_forward, plain, session.model)
    try:
        yield
    finally:
        session.forward = plain


def _forward(forward: Forward, model: nn.Module, inputs: Tensor) -> Any:
    counting = counting_norms(model)
    counters = [count for norm in counting if (count := norm._buffers[COUNTER]) is not None]
    changes: list[Change] = [(norm._buffers, COUNTER, None) for norm in counting]
    if torch.is_autocast_enabled(inputs.device.type):
        changes += _low_precision(model, torch.get_autocast_dtype(inputs.device.type))
    with _changed(changes), fast_convolutions(model, inputs.device):
        found = forward(inputs)
    if counters:
        torch._foreach_add_(counters, 1)
    return found


def counting_norms(model: nn.Module) -> list[nn.Module]:
    """Layers that count batches but do not use the count, because their momentum is a number."""
    return [
        norm
        for norm in model.modules()
        if type(norm) in COUNTING and norm.training and norm.momentum is not None and not _has_hooks(norm)
    ]


def _low_precision(model: nn.Module, dtype: torch.dtype) -> list[Change]:
    users = castable_weights(model)
    copies = joint_cast(list(users), dtype)
    return [
        (layer._parameters, name, copy)
        for copy, layers in zip(copies, users.values(), strict=True)
        for layer, name in layers
    ]


def castable_weights(model: nn.Module) -> dict[nn.Parameter, list[tuple[nn.Module, str]]]:
    """Weights that autocast would cast in every layer that uses them, with these layers."""
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
        and all(type(layer) in CAST and not _has_hooks(layer) for layer, _ in layers)
    }


def _is_known(module: nn.Module) -> bool:
    """Whether torch or this library defines the class: others may use weights of submodules directly."""
    return type(module).__module__.split(".")[0] in ("torch", LIBRARY)


def _has_hooks(layer: nn.Module) -> bool:
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


def is_worth_compiling(session: TrainingSession, size: int) -> bool:
    """Whether the run is long, on a GPU, and the batch has the usual size."""
    usual = session.bounds[0][1] - session.bounds[0][0]
    return session.device.type == "cuda" and session.steps >= MIN_STEPS_TO_COMPILE and size == usual


def with_compiled_network(session: TrainingSession, work: Callable[[], Result]) -> Result:
    """Call ``work`` with ``session.forward`` compiled; if that fails, warn and call it uncompiled.

    Compilation fuses batch norm, activation and addition into one pass over memory per direction.
    """
    try:
        with _compiled(session):
            return work()
    except Exception as problem:
        reason = str(problem).strip().splitlines() or [type(problem).__name__]
        warnings.warn(
            f"torch.compile of the network failed ({reason[0]}): training continues without it", stacklevel=2
        )
    return work()


@contextmanager
def _compiled(session: TrainingSession) -> Iterator[None]:
    plain = session.forward
    session.forward = torch.compile(plain, dynamic=False)
    try:
        yield
    finally:
        session.forward = plain


def joint_cast(tensors: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, ...]:
    """``tensor.to(dtype)`` for each tensor by one kernel; values and gradients are the same bit for bit.

    Args:
        tensors: of one dtype, on one device.
        dtype: of the copies, which keep shape and memory layout.

    Example:
        >>> weight = torch.tensor([1.001], requires_grad=True)
        >>> (low,) = joint_cast([weight], torch.bfloat16)
        >>> (3.007 * low).sum().backward()
        >>> low.detach(), weight.grad
        (tensor([1.], dtype=torch.bfloat16), tensor([3.]))
    """
    found: tuple[Tensor, ...] = _JointCast.apply(dtype, *tensors) if tensors else ()  # type: ignore[no-untyped-call]
    return found


class _JointCast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        ctx.set_materialize_grads(False)  # unused copies get no gradient instead of zeros
        ctx.dtype = tensors[0].dtype
        return tuple(_copied(tensors, dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor | None) -> tuple[Tensor | None, ...]:
        given = iter(_copied([gradient for gradient in upstream if gradient is not None], ctx.dtype))
        return None, *(None if gradient is None else next(given) for gradient in upstream)


def _copied(tensors: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    copies = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    if copies:
        torch._foreach_copy_(copies, list(tensors))
    return copies
