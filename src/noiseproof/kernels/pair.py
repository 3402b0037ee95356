"""One loss of every row under two labels, whose gradients are written together."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import tracing
from .expressed import expressed_gradient, wants_expressions
from .fused import Call, first_pass


class Pair(NamedTuple):
    """The same loss of the same rows under two labels; ``keep`` is given."""

    first: Call
    second: Call


def pair_rows(logits: Tensor, pair: Pair) -> tuple[Tensor, Tensor]:
    """(N,) values for the first labels and for the second ones, 0 where ignored."""
    own, others = _Pair.apply(logits, pair)  # type: ignore[no-untyped-call]
    return own, others


class _Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, pair: Pair) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        found = [first_pass(logits, call, None) for call in pair]
        ctx.pair, ctx.slots = pair, found[0][1]
        sides = [
            (call.target, first.state, first.partials) for call, (first, _) in zip(pair, found, strict=True)
        ]
        ctx.save_for_backward(logits, pair.first.keep, *sides[0], *sides[1])
        return found[0][0].values, found[1][0].values

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        from .triton import launch, launch_pair

        logits, keep, *sides = ctx.saved_tensors
        if wants_expressions(*upstream):
            with tracing.plainly():
                grad = expressed_gradient(lambda: [c.again(logits) for c in ctx.pair], logits, upstream)
            return grad, None
        batch = launch.Batch(logits, sides[0], keep, None)
        first, second = launch_pair.Side(*sides[:3]), launch_pair.Side(*sides[3:])
        above = launch_pair.Above(torch.stack(upstream))
        return launch_pair.pair_gradient(batch, first, second, ctx.slots, above), None
