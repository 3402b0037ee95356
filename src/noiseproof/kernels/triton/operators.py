"""The kernels as torch.library operators, so that ``torch.compile`` keeps one graph.

Row functions that cannot be recorded use them in eager mode as well: statistics by a kernel, the function as
torch calls, the gradient by a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import expressions, tracing
from ..expressions import expressed_gradient, wants_expressions
from ..row_function import Statistics, Wanted

SMALL, LARGE = 3, 10
"""Rows of the state without and with sums, see ``launch.State``."""
SLOTS = (0, 3, 4, 5, 6)
"""The rows of the state that are statistics."""
CLASSES, LABEL = 7, 9


def find_statistics(
    logits: Tensor, target: Tensor, keep: Tensor | None, wanted: Wanted | None, weights: Tensor | None
) -> tuple[Statistics, Tensor]:
    """As :func:`expressions.find_statistics`, by a kernel; relative to the label's logit."""
    state = _state(logits, target, keep, wanted, weights, centred=True)
    if wanted is None:
        return Statistics(*[state[0]] * 5), state[0]
    row = Statistics(*(state[slot] for slot in SLOTS))
    return row._replace(sum_pz=row.sum_pz - state[LABEL].detach()), state[CLASSES].detach()


def row_statistics(logits: Tensor, target: Tensor) -> Statistics:
    """All row statistics, differentiable. (N, C), (N,) -> 5 x (N,)"""
    state = _state(logits, target, None, Wanted(True, True, True), None, centred=False)
    return Statistics(*(state[slot] for slot in SLOTS))


def _state(
    logits: Tensor,
    target: Tensor,
    keep: Tensor | None,
    wanted: Wanted | None,
    weights: Tensor | None,
    centred: bool,
) -> Tensor:
    keep = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    sums = (wanted is not None, *(wanted or Wanted()))
    given = logits.new_empty(0, dtype=torch.float32) if weights is None else weights.float()
    state: Tensor = _statistics(logits, target, keep, given, *sums, centred)
    return state


def _weights(given: Tensor) -> Tensor | None:
    """Operators take an empty tensor for None."""
    return given if given.numel() else None


@torch.library.custom_op("noiseproof::row_statistics", mutates_args=())
def _statistics(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    weights: Tensor,
    extra: bool,
    sum_z: bool,
    squares: bool,
    products: bool,
    centred: bool,
) -> Tensor:
    from . import launch

    wanted = Wanted(sum_z, squares, products) if extra else None
    return launch.statistics(logits, target, keep, wanted, _weights(weights), centred)


@_statistics.register_fake
def _(logits: Tensor, target: Tensor, keep: Tensor, weights: Tensor, extra: bool, *flags: bool) -> Tensor:
    return logits.new_empty((LARGE if extra else SMALL, logits.shape[0]), dtype=torch.float32)


@torch.library.custom_op("noiseproof::row_gradient", mutates_args=())
def _gradient(
    logits: Tensor,
    target: Tensor,
    keep: Tensor,
    weights: Tensor,
    state: Tensor,
    partials: Tensor,
    slots: Sequence[int],
) -> Tensor:
    from . import launch

    above = partials.contiguous()
    return launch.gradient(logits, target, keep, state, above, tuple(slots), weights=_weights(weights))


@_gradient.register_fake
def _(logits: Tensor, *others: Any) -> Tensor:
    return torch.empty_like(logits, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, keep, weights, *flags = inputs
    ctx.save_for_backward(logits, target, keep, weights, output)
    present = (True, *flags[:4])
    ctx.slots = [slot if there else -1 for slot, there in zip(SLOTS, present, strict=True)]


def _backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    logits, target, keep, weights, state = ctx.saved_tensors
    if not torch.compiler.is_compiling() and wants_expressions(upstream):
        gradient = _expressed(logits, target, keep, _weights(weights), upstream)
    else:
        gradient = _gradient(logits, target, keep, weights, state, upstream, ctx.slots)
    return gradient, *[None] * 8


def _expressed(
    logits: Tensor, target: Tensor, keep: Tensor, weights: Tensor | None, upstream: Tensor
) -> Tensor:
    """The same as expressions. What is subtracted from the statistics does not change a row function."""
    used = SLOTS if len(upstream) == LARGE else SLOTS[:1]

    def outputs() -> list[Tensor]:
        counted = torch.where(keep.unsqueeze(1), logits, 0.0)
        return list(expressions.statistics(counted, torch.where(keep, target, 0), weights))[: len(used)]

    above = [torch.where(keep, upstream[slot], 0.0) for slot in used]
    with tracing.expressions_only():
        return expressed_gradient(outputs, logits, above)


_statistics.register_autograd(_backward, setup_context=_remember)
