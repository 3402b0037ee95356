"""Launching what only the peer loss needs: its permutations, and statistics of two labels per row."""

from __future__ import annotations

import torch
from torch import Tensor

from ..programs.recorder import Program
from .launch import Batch, ignored_label
from .launch_mean import Mean, ending, finish
from .pair_statistics import pair_statistics_kernel
from .permutation import permutation_kernel
from .start import start
from .tile import BYTES_PER_LOAD, steps_of, tile_of

PERMUTATION_ROWS, PERMUTATION_BLOCK = 16, 256


def permutation(batch: Batch, step: Tensor, begins: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The place of every row in one random order, and the labels of the rows in another; both (N,)."""
    target = batch.target.contiguous()
    places, labels = torch.empty_like(target, dtype=torch.int32), torch.empty_like(target)
    sizes = (len(target), ignored_label(batch), *begins, PERMUTATION_ROWS, PERMUTATION_BLOCK)
    grid = (steps_of(len(target), PERMUTATION_ROWS), 1, 1)
    start(permutation_kernel, grid, 4, (target, step, places, labels, *sizes))
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
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    values, state, partials = (
        logits.new_empty(size, dtype=torch.float32) for size in ((rows,), (6, rows), (2, rows))
    )
    partner = torch.empty_like(target)
    tile, width = tile_of(classes, rows), BYTES_PER_LOAD // logits.element_size()
    asked = ending(mean, state)
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
