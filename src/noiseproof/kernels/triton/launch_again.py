"""Launching what looks again at rows that a series does not do for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..programs.class_program import needs_series
from ..programs.recorder import Program
from ..programs.series import Sums
from .again import blind_again_kernel
from .again_gradient import gradient_again_kernel
from .launch import Batch, ignored_label
from .launch_blind import Ending, from_above, given, sizes
from .launch_join import joining
from .launch_mean import Mean, finish
from .launch_mean import ending as asked_of
from .start import start
from .tile import Tile, steps_of, tile_of, width_of

if TYPE_CHECKING:
    from ..sum_plan import SumPlan

PROGRAMS = 1024
"""So few are soon over; yet if all rows are left there are several times as many as a GPU holds at once."""
MOST_ROWS = 16
"""For one program to look at."""
SUM_ROWS = 4, 5
"""Of the state, where a sum of z is wanted: that, and how many classes are not masked."""


def rows_looked_at(rows: int) -> int:
    """How many one program looks at.

    >>> [rows_looked_at(rows) for rows in (1, 1000, 4096, 8192, 65536)]
    [1, 1, 4, 8, 16]
    """
    return max(1, min(MOST_ROWS, 1 << (rows // PROGRAMS).bit_length() >> 1))


def blocks_written(tile: Tile, programs: int, classes: int) -> int:
    """Of the gradient of a row: more programs share it where ``programs``, those for all rows, are few."""
    across = max(1, min(PROGRAMS // programs, steps_of(classes, tile.block * tile.blocks)))
    return steps_of(steps_of(classes, tile.block), across)


def blind_again(
    batch: Batch,
    program: Program,
    found: tuple[Tensor, Tensor],
    ending: Ending,
    mean: Mean | None,
    join: SumPlan | None,
) -> None:
    """Numbers of B and loss of the rows that ``series_kernel`` left; then ``join`` and ``mean`` of all rows.

    ``found`` are the state and those numbers. What is joined cancels exactly, so nothing is contracted then.
    """
    logits, (rows, classes) = batch.logits, batch.logits.shape
    number, tile, width = rows_looked_at(rows), tile_of(classes, rows), width_of(logits)
    asked, (weight, how) = asked_of(mean, ending.values), joining(join, SUM_ROWS)
    start(
        blind_again_kernel,
        (steps_of(rows, number), 1, 1),
        tile.warps,
        (
            *given(batch),
            *found,
            *ending[:3],
            *asked[:3],
            *sizes(batch),
            weight,
            *how,
            asked[3],
            batch.keep is not None,
            logits.stride(1) == 1,
            *program,
            number,
            tile.block // width,
            width,
        ),
        contract=join is None,
    )
    finish(mean, ending.values, ending.values, batch.target, ignored_label(batch))


def gradient_again(
    batch: Batch,
    program: Program,
    sums: Sums,
    saved: tuple[Tensor, ...],
    upstream: Tensor,
    count: Tensor | None,
    out: Tensor,
) -> None:
    """The rows of ``out`` that ``series_gradient_kernel`` left; ``saved`` is from ``series_values``."""
    logits, (rows, classes), slopes = batch.logits, batch.logits.shape, saved[2]
    number, tile = rows_looked_at(rows), tile_of(classes, rows)
    blocks = blocks_written(tile, steps_of(rows, number), classes)
    above, (stride, *flags) = from_above(upstream, count, slopes)
    start(
        gradient_again_kernel,
        (steps_of(rows, number), steps_of(classes, tile.block * blocks), 1),
        tile.warps,
        (
            *given(batch),
            *saved,
            *above,
            out,
            *sizes(batch),
            stride,
            sums.reach,
            *flags,
            len(slopes) > 2,
            batch.keep is not None,
            logits.stride(1) == 1,
            tuple(sums.ratio),
            needs_series(program),
            *program,
            number,
            tile.block,
            blocks,
        ),
        contract=True,
    )
