"""Launching the kernels of the blind loss, which counts every class of a row as if it were the label."""

from __future__ import annotations

import torch
from torch import Tensor

from .class_program import needs_series
from .launch import BYTES_PER_LOAD, Batch, Tile, _ignored, _steps, statistics, tile_of
from .recorder import Program
from .start import start
from .triton_blind import blind_kernel
from .triton_blind_gradient import blind_gradient_kernel

MARGIN, BLIND = 0, 3
"""Rows of the state that are differentiable; peak and mass lie between them."""
STATE_ROWS = 7


def blind_tile(classes: int, has_prior: bool) -> Tile:
    """Rows taken together read the prior once."""
    return Tile(4, 512, 4, 8) if has_prior and classes > 2048 else tile_of(classes)


def blind(batch: Batch, prior: Tensor | None, program: Program) -> Tensor:
    """(7, N): margin, peak and mass, then B and what its gradient needs.

    ``prior`` is (C,) in float32, None where every class counts 1.
    """
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    state = logits.new_empty((STATE_ROWS, rows), dtype=torch.float32)
    state[:BLIND] = statistics(batch, None).state
    tile, width = blind_tile(classes, prior is not None), BYTES_PER_LOAD // logits.element_size()
    start(
        blind_kernel,
        (_steps(rows, tile.rows), 1, 1),
        tile.warps,
        (
            logits,
            target,
            target if batch.keep is None else batch.keep.contiguous(),
            state if prior is None else prior,
            state,
            state[BLIND:],
            rows,
            classes,
            *logits.stride(),
            _ignored(batch),
            batch.keep is not None,
            prior is not None,
            logits.stride(1) == 1,
            *program,
            tile.rows,
            tile.block // width,
            width,
        ),
        contract=True,
    )
    return state


def blind_gradient(
    batch: Batch, prior: Tensor | None, program: Program, state: Tensor, slopes: Tensor
) -> Tensor:
    """The gradient of the logits from the derivatives with respect to margin and B, ``slopes`` (2, N)."""
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    tile = blind_tile(classes, prior is not None)
    start(
        blind_gradient_kernel,
        (_steps(rows, tile.rows), _steps(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            logits,
            target,
            target if batch.keep is None else batch.keep.contiguous(),
            state if prior is None else prior,
            state,
            state[BLIND:],
            slopes,
            out,
            rows,
            classes,
            *logits.stride(),
            _ignored(batch),
            batch.keep is not None,
            prior is not None,
            logits.stride(1) == 1,
            needs_series(program),
            *program,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
        contract=True,
    )
    return out
