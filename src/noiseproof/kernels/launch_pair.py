"""Launching the gradient of two labels per row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .launch import Batch, _ignored, _steps, tile_of
from .start import start
from .triton_pair import pair_gradient_kernel


class Side(NamedTuple):
    """What the statistics pass left for one of the labels."""

    target: Tensor
    state: Tensor
    partials: Tensor


def pair_gradient(batch: Batch, first: Side, second: Side, slots: tuple[int, ...], slopes: Tensor) -> Tensor:
    """The gradient of the logits, of their dtype; ``slopes`` (2, N) come from above."""
    logits, target = batch.logits, first.target.contiguous()
    rows, classes = logits.shape
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    tile = tile_of(classes)
    start(
        pair_gradient_kernel,
        (_steps(rows, tile.rows), _steps(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            logits,
            target,
            second.target.contiguous(),
            target if batch.keep is None else batch.keep.contiguous(),
            first.state,
            second.state,
            first.partials,
            second.partials,
            slopes,
            out,
            rows,
            classes,
            *logits.stride(),
            _ignored(batch),
            slots,
            batch.keep is not None,
            logits.stride(1) == 1,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
    )
    return out
