"""The kernels as operators of torch.library, so that torch.compile keeps one graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .reference import Statistics, Wanted
from .row_function import RowFunction

SMALL, LARGE = 3, 10
"""Rows of the state without and with sums, see ``launch.State``."""
LABEL = 9
"""The row of the label's logit, which logsumexp and sum of z are relative to already."""
SLOTS = (0, 3, 4, 5, 6)
"""The rows of the state that are statistics."""


def row_statistics(logits: Tensor, target: Tensor, keep: Tensor | None, wanted: Wanted | None) -> Tensor:
    """The state of the statistics pass, differentiable in the rows that are statistics."""
    sums = (wanted is not None, *(wanted or Wanted()))
    keep = torch.ones_like(target, dtype=torch.bool) if keep is None else keep
    state: Tensor = _statistics(logits, target, keep, *sums)
    return state


def statistics_loss(logits: Tensor, target: Tensor, function: RowFunction, keep: Tensor | None) -> Tensor:
    """(N,) values of a function of the statistics whose gradient are its partial derivatives."""
    columns = row_statistics(logits, target, keep, function.wanted).unsqueeze(2)
    row = Statistics(*(columns[slot] for slot in SLOTS))
    still = Statistics(*(column.detach() for column in row))
    centred = still._replace(sum_pz=still.sum_pz - columns[LABEL].detach())
    value, partials = function.evaluate(centred, columns[7].detach())
    value = value.detach()
    for column, at, slope in zip(row, still, partials, strict=True):
        if slope is not None:
            slope = slope if keep is None else torch.where(keep.unsqueeze(1), slope, 0.0)
            value = value + slope.detach() * (column - at)
    value = value.squeeze(1)
    return value if keep is None else torch.where(keep, value, 0.0)


@torch.library.custom_op("noiseproof::row_statistics", mutates_args=())
def _statistics(
    logits: Tensor, target: Tensor, keep: Tensor, extra: bool, sum_z: bool, squares: bool, products: bool
) -> Tensor:
    from .triton import launch

    batch = launch.Batch(logits, target, keep, None)
    return launch.statistics(batch, Wanted(sum_z, squares, products) if extra else None).state


@_statistics.register_fake
def _(
    logits: Tensor, target: Tensor, keep: Tensor, extra: bool, sum_z: bool, squares: bool, products: bool
) -> Tensor:
    return logits.new_empty((LARGE if extra else SMALL, logits.shape[0]), dtype=torch.float32)


@torch.library.custom_op("noiseproof::row_gradient", mutates_args=())
def _gradient(
    logits: Tensor, target: Tensor, keep: Tensor, state: Tensor, partials: Tensor, slots: Sequence[int]
) -> Tensor:
    from .triton import launch

    batch = launch.Batch(logits, target, keep, None)
    return launch.gradient(batch, state, partials.contiguous(), tuple(slots))


@_gradient.register_fake
def _(
    logits: Tensor, target: Tensor, keep: Tensor, state: Tensor, partials: Tensor, slots: Sequence[int]
) -> Tensor:
    return torch.empty_like(logits, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    logits, target, keep, extra, *sums = inputs
    ctx.save_for_backward(logits, target, keep, output)
    present = (True, extra, *sums)
    ctx.slots = [slot if there else -1 for slot, there in zip(SLOTS, present, strict=True)]


def _backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    logits, target, keep, state = ctx.saved_tensors
    grad = _gradient(logits, target, keep, state, upstream, ctx.slots)
    return grad, None, None, None, None, None, None


_statistics.register_autograd(_backward, setup_context=_remember)
