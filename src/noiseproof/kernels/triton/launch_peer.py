"""Launching what only the peer loss needs: its permutations, and statistics of two labels per row."""

from __future__ import annotations

import torch
from torch import Tensor

from ..programs.recorder import Program
from .launch import Batch, ignored_label
from .launch_mean import Mean, ending, finish
from .pair_statistics import pair_statistics_kernel
from .permutation import keys_kernel, permutation_kernel
from .start import start
from .tile import steps_of, tile_of, width_of

PERMUTATION_ROWS, PERMUTATION_BLOCK = 16, 256
MOST_ROWS_DRAWN_AGAIN = 4096
"""Every program draws the keys of all rows; of more rows a kernel draws them once."""


def permutation(batch: Batch, step: Tensor, begins: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The place of every row in one random order, and the labels of the rows in another; both (N,)."""
    target = batch.target.contiguous()
    places, labels = torch.empty_like(target, dtype=torch.int32), torch.empty_like(target)
    rows, drawn, keys = len(target), len(target) > MOST_ROWS_DRAWN_AGAIN, places
    sizes = (rows, ignored_label(batch), *begins)
    if drawn:
        keys, grid = places.new_empty(2, rows), (steps_of(rows, PERMUTATION_BLOCK), 1, 1)
        start(keys_kernel, grid, 4, (target, step, keys, *sizes, PERMUTATION_BLOCK))
    grid, shape = (steps_of(rows, PERMUTATION_ROWS), 1, 1), (PERMUTATION_ROWS, PERMUTATION_BLOCK)
    start(permutation_kernel, grid, 4, (target, step, keys, places, labels, *sizes, drawn, *shape))
    return places, labels


def pair_values(
    batch: Batch,
    drawn: tuple[Tensor, Tensor],
    counted: tuple[Tensor, bool],
    alpha: float,
    program: Program,
    mean: Mean | None = None,
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """(N,) losses less alpha times those of the second labels; and these labels, (6, N), (2, N) for later.

    ``drawn`` is from ``permutation``, ``counted`` its step, and whether that is one more from now on.
    """
    logits, target, (rows, classes) = batch.logits, batch.target.contiguous(), batch.logits.shape
    shapes, partner = ((rows,), (6, rows), (2, rows)), torch.empty_like(target)
    values, state, partials = (logits.new_empty(size, dtype=torch.float32) for size in shapes)
    tile, width, asked = tile_of(classes, rows), width_of(logits), ending(mean, state)
    start(
        pair_statistics_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            logits,
            target,
            *drawn,
            counted[0],
            partner,
            state,
            values,
            partials,
            *asked[:3],
            rows,
            classes,
            *logits.stride(),
            ignored_label(batch),
            alpha,
            asked[3],
            counted[1],
            logits.stride(1) == 1,
            *program,
            tile.rows,
            tile.block // width,
            width,
        ),
    )
    finish(mean, values, values, target, ignored_label(batch))
    return values, (partner, state, partials)
