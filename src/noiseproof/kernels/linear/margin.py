"""Margins of a linear layer whose logits are never stored, as a node of the graph."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .finish import finished, lifted, refuse_more_than_a_gradient
from .slabs import Check, MarginState, Walk, margin_gradients, margin_state
from .sweep import Projection


def linear_margin_rows(projection: Projection, target: Tensor, keep: Tensor | None, check: Check) -> Tensor:
    """(N,) margins, 0 where ``keep`` is False; ``check`` sees every block of them."""

    def state(again: Projection) -> MarginState:
        return margin_state(again, target, keep, check)

    margins: Tensor = _LinearMargin.apply(*projection[:3], target, keep, state, projection[3:])  # type: ignore[no-untyped-call]
    return margins


class _LinearMargin(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        target: Tensor,
        keep: Tensor | None,
        find: Callable[[Projection], MarginState],
        settings: tuple[Any, ...],
    ) -> Tensor:
        state, ctx.kept = find(Projection(hidden, weight, bias, *settings))
        ctx.settings = settings
        ctx.save_for_backward(hidden, weight, bias, target, keep, state)
        return state[0].clone()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        refuse_more_than_a_gradient(upstream)
        hidden, weight, bias, target, keep, state = ctx.saved_tensors
        projection = Projection(hidden, weight, bias, *ctx.settings)
        step, factor = lifted(upstream, projection.dtype)
        walk = Walk(projection, target, keep, state, step)
        gradients = margin_gradients(walk, ctx.needs_input_grad[:3], ctx.kept)
        return *finished(gradients, projection, factor), None, None, None, None
