"""Launching the gradient of two labels per row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .launch import Batch, ignored_label
from .pair import pair_gradient_kernel
from .start import start
from .tile import steps_of, tile_of


class Side(NamedTuple):
    """What the statistics pass left for one of the labels."""

    target: Tensor
    state: Tensor
    partials: Tensor


class Above(NamedTuple):
    """The derivatives of both values: (2, N), or of a peer loss those of the whole, (N,) or one number."""

    slopes: Tensor
    number: Tensor | None = None
    """How many rows a mean is over, which the slope is divided by."""
    alpha: float | None = None
    """What the second value of a peer loss is multiplied with and taken away; all rows have one slope."""


def pair_gradient(batch: Batch, first: Side, second: Side, slots: tuple[int, ...], above: Above) -> Tensor:
    """The gradient of the logits, of their dtype."""
    logits, target = batch.logits, first.target.contiguous()
    (rows, classes), (slopes, number, alpha) = logits.shape, above
    out, tile = torch.empty_like(logits, memory_format=torch.contiguous_format), tile_of(classes, rows)
    how = (slopes.stride(0) if slopes.dim() else 0, alpha or 0.0, alpha is not None, number is not None)
    start(
        pair_gradient_kernel,
        (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1),
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
            slopes if number is None else number,
            out,
            rows,
            classes,
            *logits.stride(),
            ignored_label(batch),
            *how,
            slots,
            batch.keep is not None,
            logits.stride(1) == 1,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
    )
    return out
