"""Launching losses of powers of p less their blind part."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..programs.powers import Powers
from ..programs.recorder import Program
from .launch import Batch, ignored_label
from .launch_blind import PRIOR_TILE, blind_tile, given, sizes
from .launch_mean import Mean, ending, finish
from .powers import powers_kernel
from .powers_gradient import powers_gradient_kernel
from .powers_results import RESULTS, SUMS, powers_finish_kernel
from .start import start
from .tile import Tile, steps_of, width_of

FINISHED_ROWS = 128
"""Of a program that finishes them."""
THREADS = 32
"""Of a warp: each has a lane of its own, and all parts of a block that fall to it."""


class Cut(NamedTuple):
    """How the work is cut for both kernels, and how many registers a thread may have, if that is limited."""

    reading: Tile
    writing: Tile
    registers: tuple[int, int] | None = None


LONG_16 = Cut(Tile(1, 1024, 2), Tile(1, 1024, 4, 8), (64, 32))
"""Fastest on an H200, as are the next: few warps read a row, since all would do what there is to do once."""
LONG_32 = Cut(PRIOR_TILE, PRIOR_TILE, (80, 80))
MOST_AT_ONCE = 2048
"""Classes of a row that is read at once, and finished by who reads it."""


def cut_of(logits: Tensor, powers: Powers) -> Cut:
    """Registers are limited of one power: sums of two need more."""
    rows, classes = logits.shape
    if classes <= MOST_AT_ONCE:
        tile = blind_tile(classes, rows, True)
        return Cut(tile, tile)
    cut = LONG_16 if logits.element_size() == 2 else LONG_32
    return cut if len(powers.exponents) == 1 else cut._replace(registers=None)


def powers_values(
    batch: Batch,
    own: Program,
    powers: Powers,
    prior: Tensor,
    beta: float,
    mean: Mean | None = None,
) -> tuple[Tensor, Tensor]:
    """(N,) values, and the numbers the gradient needs. ``prior`` is (C,) or counts with their sum."""
    logits, (rows, classes) = batch.logits, batch.logits.shape
    (tile, _, registers), width, later = cut_of(logits, powers), width_of(logits), classes > MOST_AT_ONCE
    shapes = rows, (RESULTS.value + SUMS.value * later, rows)
    values, state = (logits.new_empty(shape, dtype=torch.float32) for shape in shapes)
    asked = ending(mean, state)
    (_, target, _), numbers = given(batch), (beta, powers.constant)
    how = (*own, powers.exponents, powers.value, powers.ratio)
    start(
        powers_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            *(logits, target, prior, values, state, *asked[:3], *sizes(batch), *numbers, asked[3], later),
            *(len(prior) > classes, logits.stride(1) == 1, *how, tile.rows),
            min(tile.block // width, THREADS * tile.warps),
            width,
            tile.block,
        ),
        contract=True,
        registers=registers and registers[0],
    )
    if later:
        known = (target, prior, values, state, *asked[:3], rows, classes, ignored_label(batch), *numbers)
        start(
            powers_finish_kernel,
            (steps_of(rows, FINISHED_ROWS), 1, 1),
            FINISHED_ROWS // THREADS,
            (*known, asked[3], len(prior) > classes, *how, FINISHED_ROWS),
            contract=True,
        )
    finish(mean, values, values, batch.target, ignored_label(batch))
    return values, state


def powers_gradient(
    batch: Batch,
    powers: Powers,
    prior: Tensor,
    beta: float,
    state: Tensor,
    upstream: Tensor,
    count: Tensor | None,
) -> Tensor:
    """The gradient of the logits; ``upstream`` is (N,) or one number, over ``count`` if that is given."""
    logits, (rows, classes) = batch.logits, batch.logits.shape
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    _, tile, registers = cut_of(logits, powers)
    start(
        powers_gradient_kernel,
        (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            *given(batch)[:2],
            prior,
            state,
            upstream,
            state if count is None else count,
            out,
            *sizes(batch),
            upstream.stride(0) if upstream.dim() else 0,
            beta,
            count is not None,
            len(prior) > classes,
            logits.stride(1) == 1,
            powers.exponents,
            powers.ratio,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
        contract=True,
        registers=registers and registers[1],
    )
    return out
