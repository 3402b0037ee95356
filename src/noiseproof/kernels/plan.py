"""Losses whose whole batch is two passes of the kernels, values and gradient, with the mean between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch import Tensor

from . import tracing
from .expressed import expressed_gradient, wants_expressions

if TYPE_CHECKING:
    from .triton.launch import Batch
    from .triton.launch_mean import Mean

Saved = tuple[Tensor, ...]


class Plan(Protocol):
    """How the kernels take a loss. Rows of ``batch`` count by its ``ignore_index``."""

    def first(self, batch: Batch, mean: Mean | None) -> tuple[Tensor, Saved]:
        """(N,) values, 0 where ignored, and what the second pass needs; puts their mean where it belongs."""
        ...

    def second(self, batch: Batch, saved: Saved, upstream: Tensor, count: Tensor | None) -> Tensor:
        """The gradient of the logits; ``upstream`` is (N,) or one number, over ``count`` if that is given."""
        ...


class Planned(NamedTuple):
    """A plan for a batch."""

    plan: Plan
    target: Tensor
    ignore_index: int
    mean: bool
    again: Callable[[Tensor, Saved], Tensor]
    """The same loss as a plain differentiable expression, for double backward."""


def planned_loss(logits: Tensor, planned: Planned) -> Tensor:
    """(N,) values, or their mean over the rows that count."""
    found: Tensor = _Planned.apply(logits, planned)  # type: ignore[no-untyped-call]
    return found


class _Planned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, planned: Planned) -> Tensor:  # type: ignore[override]
        from .triton import launch, launch_mean

        batch = launch.Batch(logits, planned.target, None, planned.ignore_index)
        mean = launch_mean.mean_of(logits) if planned.mean else None
        values, saved = planned.plan.first(batch, mean)
        value, count = (values, None) if mean is None else mean[:2]
        ctx.planned = planned
        ctx.save_for_backward(logits, planned.target, count, *saved)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        from .triton import launch

        logits, target, count, *saved = ctx.saved_tensors
        if wants_expressions(upstream):
            with tracing.plainly():
                grad = expressed_gradient(lambda: ctx.planned.again(logits, tuple(saved)), logits, upstream)
            return grad, None
        batch = launch.Batch(logits, target, None, ctx.planned.ignore_index)
        return ctx.planned.plan.second(batch, tuple(saved), upstream, count), None
