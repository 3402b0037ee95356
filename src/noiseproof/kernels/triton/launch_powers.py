"""Launching losses of powers of p less their blind part."""

from __future__ import annotations

import torch
from torch import Tensor

from ..programs.powers import Powers
from ..programs.recorder import Program
from .launch import Batch, ignored_label
from .launch_blind import blind_tile, given, sizes
from .launch_mean import Mean, ending, finish
from .powers import powers_kernel
from .powers_gradient import powers_gradient_kernel
from .start import start
from .tile import Tile, steps_of, width_of

STATE_ROWS = 6
ONE_ROW = Tile(1, 2048, 4)
"""Where counts are read in 16 bits: two rows take more registers than reading those once is worth."""
REGISTERS = 64
"""The most a thread may have that takes two exponentials a logit of 16 bits: more warps hide their time."""


def powers_values(
    batch: Batch,
    own: Program,
    powers: Powers,
    prior: Tensor,
    beta: float,
    mean: Mean | None = None,
) -> tuple[Tensor, Tensor]:
    """(N,) values, and the (6, N) numbers the gradient needs. ``prior`` is (C,) or counts with their sum."""
    logits, (rows, classes) = batch.logits, batch.logits.shape
    values, state = (logits.new_empty(size, dtype=torch.float32) for size in (rows, (STATE_ROWS, rows)))
    width = width_of(logits)
    tile = ONE_ROW if prior.dtype == torch.uint16 else blind_tile(classes, rows, True)
    asked = ending(mean, state)
    start(
        powers_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            *given(batch)[:2],
            prior,
            values,
            state,
            *asked[:3],
            *sizes(batch),
            beta,
            powers.constant,
            asked[3],
            len(prior) > classes,
            logits.stride(1) == 1,
            *own,
            powers.exponents,
            powers.value,
            powers.ratio,
            tile.rows,
            tile.block // width,
            width,
        ),
        contract=True,
        registers=most_registers(logits, powers),
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
    tile = blind_tile(classes, rows, True)
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
        registers=most_registers(logits, powers),
    )
    return out


def most_registers(logits: Tensor, powers: Powers) -> int | None:
    """None where memory sets the pace anyway: in 32 bits, and where powers are products.

    Sums of two powers need more than that.
    """
    is_exponential = len(powers.exponents) == 1 and powers.exponents[0] not in (1.0, 2.0)
    return REGISTERS if is_exponential and logits.element_size() == 2 else None
