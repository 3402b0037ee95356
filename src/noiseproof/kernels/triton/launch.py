"""Launching the Triton kernels: sizes from a fixed table, since measuring at run time would synchronise."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from ..programs.recorder import Program
from ..reference import Statistics, Wanted
from .gradient import gradient_kernel
from .launch_mean import Mean, ending, finish
from .start import start
from .statistics import statistics_kernel
from .tile import steps_of, tile_of, width_of

NO_PROGRAM = Program((), ())


class State(IntEnum):
    """Rows of what the statistics pass leaves; only the first three unless a loss wants sums."""

    MARGIN = 0
    PEAK = 1
    MASS = 2
    LOGSUMEXP = 3
    SUM_Z = 4
    SUM_P2 = 5
    SUM_PZ = 6
    CLASSES = 7
    GAP = 8
    """The largest d less the sum of d squared, d the softmax over the other classes."""
    LABEL = 9


DIFFERENTIABLE = (State.MARGIN, State.LOGSUMEXP, State.SUM_Z, State.SUM_P2, State.SUM_PZ)
"""The rows that are :class:`Statistics`."""


class Batch(NamedTuple):
    """Logits (N, C) with labels (N,). Rows count where ``keep`` says so, or the label is not ignored."""

    logits: Tensor
    target: Tensor
    keep: Tensor | None
    ignore_index: int | None


class First(NamedTuple):
    """What the statistics pass leaves, in float32; values and partials only from a program."""

    state: Tensor
    """(3, N), or (10, N) where sums are wanted."""
    values: Tensor
    partials: Tensor


def statistics(
    batch: Batch,
    wanted: Wanted | None,
    program: Program = NO_PROGRAM,
    centred: bool = True,
    tables: Tensor | None = None,
    mean: Mean | None = None,
    of_margin: bool = False,
) -> First:
    """Read the logits once; a program's first result are the values, (N,), the others partials, (k, N).

    ``centred`` takes the label's logit off logsumexp and sum of z, whose difference then keeps its digits.
    ``of_margin``: the program asks for the margin alone, whatever else is wanted.
    """
    logits, target, extra = batch.logits, batch.target.contiguous(), wanted is not None
    rows, classes = logits.shape
    sizes = (len(State) if extra else 3, rows), (rows,), (max(0, len(program.outputs) - 1), rows)
    first = First(*(logits.new_empty(size, dtype=torch.float32) for size in sizes))
    tile, width, asked = tile_of(classes, rows), width_of(logits), ending(mean, first.state)
    start(
        statistics_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            logits,
            target,
            target if batch.keep is None else batch.keep.contiguous(),
            *first,
            first.values if tables is None else tables,
            *asked[:3],
            rows,
            classes,
            *logits.stride(),
            ignored_label(batch),
            asked[3],
            batch.keep is not None,
            logits.stride(1) == 1,
            extra,
            (*(wanted or Wanted()), centred, of_margin),
            *program,
            tile.rows,
            tile.block // width,
            width,
        ),
    )
    finish(mean, first.values, first.partials, target, ignored_label(batch))
    return first


def statistics_of(state: Tensor) -> tuple[Statistics, Tensor]:
    """What a row function is given: columns (N, 1) relative to the label's logit, or the margin as (N,)."""
    if len(state) < len(State):
        return Statistics(*[state[State.MARGIN]] * 5), state[State.MARGIN]
    columns = state.unsqueeze(2).unbind(0)
    row = Statistics(*(columns[row] for row in DIFFERENTIABLE))
    return row._replace(sum_pz=row.sum_pz - columns[State.LABEL]), columns[State.CLASSES]


def gradient(
    batch: Batch,
    state: Tensor,
    partials: Tensor,
    slots: tuple[int, ...],
    upstream: Tensor | None = None,
    count: Tensor | None = None,
    inplace: bool = False,
) -> Tensor:
    """The gradient of the logits, of their dtype: contiguous, or in their own memory.

    ``partials`` (k, N) holds the derivatives with respect to margin, logsumexp, sum of z, p squared and
    p z in the rows ``slots`` names, -1 for those that are 0. ``upstream`` is (N,) or one number.
    """
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    out = logits if inplace else torch.empty_like(logits, memory_format=torch.contiguous_format)
    tile = tile_of(classes, rows)
    start(
        gradient_kernel,
        (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            logits,
            target,
            target if batch.keep is None else batch.keep.contiguous(),
            state,
            partials,
            state if upstream is None else upstream,
            state if count is None else count,
            out,
            rows,
            classes,
            *logits.stride(),
            *out.stride(),
            ignored_label(batch),
            upstream.stride(0) if upstream is not None and upstream.dim() else 0,
            upstream is not None,
            count is not None,
            slots,
            batch.keep is not None,
            logits.stride(1) == 1 and out.stride(1) == 1,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
    )
    return out


def ignored_label(batch: Batch) -> int:
    return 0 if batch.ignore_index is None else batch.ignore_index
