"""Margins of a linear layer whose logits are never stored, as a node of the graph."""

from typing import Any

import torch
from torch import Tensor

from .linear_finish import finished, lifted, refuse_second_derivative
from .linear_slabs import Check, margin_gradients, margin_state
from .linear_sweep import Projection


def linear_margin_rows(projection: Projection, target: Tensor, keep: Tensor | None, check: Check) -> Tensor:
    """(N,) margins, 0 where ``keep`` is False; ``check`` sees every block of them."""
    *tensors, dtype, chunk = projection
    margins: Tensor = _LinearMargin.apply(*tensors, target, keep, check, dtype, chunk)  # type: ignore[no-untyped-call]
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
        check: Check,
        dtype: torch.dtype,
        chunk: int,
    ) -> Tensor:
        state = margin_state(Projection(hidden, weight, bias, dtype, chunk), target, keep, check)
        ctx.settings = (dtype, chunk)
        ctx.save_for_backward(hidden, weight, bias, target, keep, state)
        return state[0].clone()

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        refuse_second_derivative()
        hidden, weight, bias, target, keep, state = ctx.saved_tensors
        projection = Projection(hidden, weight, bias, *ctx.settings)
        step, factor = lifted(upstream, projection.dtype)
        needed = ctx.needs_input_grad[:3]
        gradients = margin_gradients(projection, target, keep, state, step, needed)
        return *finished(gradients, projection, factor), None, None, None, None, None
