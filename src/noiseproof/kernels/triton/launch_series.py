"""Launching the loss over its blind loss, where many classes let one pass do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..programs.recorder import Program
from ..programs.series import Sums
from .launch import Batch
from .launch_again import blind_again, gradient_again
from .launch_blind import Ending, from_above, given, sizes
from .launch_join import slope_rows
from .launch_mean import Mean
from .series import series_kernel
from .series_gradient import series_gradient_kernel
from .start import start
from .tile import Tile, steps_of, tile_of, width_of

if TYPE_CHECKING:
    from ..sum_plan import SumPlan

FEWEST_CLASSES = 2049
"""From here a program takes one row, whose sums are large beside what any class adds."""

NARROW_TILE, NARROW_REGISTERS = Tile(1, 2048, 2), 64
"""For logits of 16 bits, fastest on an H200: two warps read a row, since all would do what is to do once."""


def series_values(
    batch: Batch, own: Program, program: Program, sums: Sums, mean: Mean | None, join: SumPlan | None
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """(N,) values; margin, peak, mass and which rows were read again, then numbers of B, and slopes."""
    logits, (rows, classes) = batch.logits, batch.logits.shape
    sum_z = join is not None and join.wanted is not None
    shapes = (6 if sum_z else 4, rows), (4, rows), (rows,), (1, rows), (slope_rows(join), rows)
    memory = [logits.new_empty(shape, dtype=torch.float32) for shape in shapes]
    state, found, values, partials, slopes = memory
    narrow, width = logits.element_size() == 2, width_of(logits)
    tile = NARROW_TILE if narrow else tile_of(classes, rows)
    start(
        series_kernel,
        (rows, 1, 1),
        tile.warps,
        (
            *given(batch),
            *memory,
            *sizes(batch),
            sums.reach,
            batch.keep is not None,
            logits.stride(1) == 1,
            *own,
            *program,
            tuple(sums.value),
            tuple(sums.ratio),
            sum_z,
            tile.block // width,
            width,
        ),
        contract=True,
        registers=NARROW_REGISTERS if narrow else None,
    )
    blind_again(batch, program, (state, found), Ending(values, partials, slopes, None), mean, join)
    return values, (state, found, slopes)


def series_gradient(
    batch: Batch,
    program: Program,
    sums: Sums,
    saved: tuple[Tensor, ...],
    upstream: Tensor,
    count: Tensor | None,
) -> Tensor:
    """The gradient of the logits from what ``series_values`` saved: of most rows, then of the others."""
    logits = batch.logits
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    (rows, classes), tile = logits.shape, tile_of(*logits.shape[::-1])
    above, (stride, *flags) = from_above(upstream, count, saved[2])
    start(
        series_gradient_kernel,
        (rows, steps_of(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            *given(batch),
            *saved,
            *above,
            out,
            *sizes(batch),
            stride,
            *flags,
            len(saved[2]) > 2,
            batch.keep is not None,
            logits.stride(1) == 1,
            tuple(sums.ratio),
            tile.block,
            tile.blocks,
        ),
        contract=True,
    )
    gradient_again(batch, program, sums, saved, upstream, count, out)
    return out
