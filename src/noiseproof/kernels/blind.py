"""Margin and blind loss of every row, differentiable: what losses that look at all classes are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import differentiable, operators_blind, tracing
from .expressed import expressed_gradient, wants_expressions
from .programs.recorder import Program


class Blind(NamedTuple):
    r""":math:`B(z) = \sum_k \pi_k\,\ell(\Delta_k)` over the classes that are not masked."""

    program: Program
    """Value, emphasis over 1 - p and emphasis, from ``record_classes``."""
    prior: Tensor | None
    """(C,) float32, None where every class counts 1."""
    plain: Callable[[Tensor], Tensor]
    """Logits (N, C) to B as a plain differentiable expression, for double backward."""


def blind_rows(logits: Tensor, target: Tensor, keep: Tensor | None, blind: Blind) -> tuple[Tensor, Tensor]:
    """Margin and B, both (N,); 0 where ``keep`` is False."""
    keep = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    if torch.compiler.is_compiling():
        return operators_blind.blind_rows(logits, target, keep, blind.prior, blind.program)
    margin, found = _Blind.apply(logits, target, keep, blind)  # type: ignore[no-untyped-call]
    return margin, found


class _Blind(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, logits: Tensor, target: Tensor, keep: Tensor, blind: Blind
    ) -> tuple[Tensor, Tensor]:
        from .triton import launch, launch_blind

        state = launch_blind.blind(launch.Batch(logits, target, keep, None), blind.prior, blind.program)
        ctx.blind = blind
        ctx.save_for_backward(logits, target, keep, state)
        return state[launch_blind.MARGIN].clone(), state[launch_blind.BLIND].clone()

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        from .triton import launch, launch_blind

        logits, target, keep, state = ctx.saved_tensors
        if wants_expressions(*upstream):

            def outputs() -> tuple[Tensor, Tensor]:
                counted = torch.where(keep.unsqueeze(1), logits, 0.0)
                return differentiable.margin(counted, target), ctx.blind.plain(counted)

            above = [torch.where(keep, slope, 0.0) for slope in upstream]
            with tracing.plainly():
                return expressed_gradient(outputs, logits, above), None, None, None
        batch = launch.Batch(logits, target, keep, None)
        slopes = torch.stack(upstream)
        grad = launch_blind.blind_gradient(
            batch, ctx.blind.prior, ctx.blind.program, launch_blind.parts(state), slopes
        )
        return grad, None, None, None
