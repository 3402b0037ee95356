"""Gradients made of plain expressions, where one formed by hand does not do."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def wants_expressions(*upstream: Tensor) -> bool:
    """True where a gradient is to be differentiated again, or is asked for of many upstreams at once.

    The latter is what ``is_grads_batched`` and vectorized Jacobians do: inside, no tensor has memory.
    """
    return torch.is_grad_enabled() or any(map(is_many, upstream))


def is_many(upstream: Tensor) -> bool:
    """Whether it stands for several; a tracer, which cannot look, never asks for that."""
    return not torch.compiler.is_compiling() and bool(torch._C._functorch.is_legacy_batchedtensor(upstream))


def expressed_gradient(
    outputs: Callable[[], Tensor | Sequence[Tensor]], logits: Tensor, upstream: Tensor | Sequence[Tensor]
) -> Tensor:
    """The gradient of what ``outputs`` makes of the logits, itself differentiable where that is asked for."""
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(outputs(), logits, upstream, create_graph=again)
    return gradient
