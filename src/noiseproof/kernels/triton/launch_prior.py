"""Launching cross entropy less its blind part."""

from __future__ import annotations

import torch
from torch import Tensor

from .count import compare_kernel, count_kernel
from .launch import Batch, ignored_label
from .launch_blind import blind_tile
from .launch_mean import Mean, ending, finish
from .prior import prior_kernel
from .prior_gradient import prior_gradient_kernel
from .start import start
from .tile import steps_of, width_of
from .zero import zeros

STATE_ROWS = 4
COUNT_BLOCK, COUNT_CLASSES = 256, 16
MOST_COMPARED = 1 << 23
"""Labels with classes: for so few one kernel that compares them is faster than zeros and additions."""
MOST_WIDE_CLASSES = 2048
"""Of so many a program reads the counts once, whatever they take."""


def is_narrow(batch: Batch) -> bool:
    """Whether counts are read in 16 bits: many classes, logits as narrow, and no number too large."""
    rows, classes = batch.logits.shape
    return batch.logits.element_size() == 2 and classes > MOST_WIDE_CLASSES and rows < 1 << 16


def counted(batch: Batch, narrow: bool = False) -> Tensor:
    """How many rows every class has, and last how many there are: (C + 1,) in float32, or uint16."""
    (rows, classes), target = batch.logits.shape, batch.target.contiguous()
    sizes = (rows, classes, ignored_label(batch), COUNT_BLOCK)
    if rows * classes <= MOST_COMPARED:
        counts = batch.logits.new_empty(classes + 1, dtype=torch.uint16 if narrow else torch.float32)
        grid = (steps_of(classes, COUNT_CLASSES), 1, 1)
        start(compare_kernel, grid, 4, (target, counts, *sizes, COUNT_CLASSES))
        return counts
    words = zeros(steps_of(classes + 1, 2) if narrow else classes + 1, like=batch.logits)
    words = words.view(torch.int32) if narrow else words
    start(count_kernel, (steps_of(rows, COUNT_BLOCK), 1, 1), 4, (target, words, *sizes))
    return words.view(torch.uint16)[: classes + 1] if narrow else words


def prior_values(batch: Batch, prior: Tensor, beta: float, mean: Mean | None = None) -> tuple[Tensor, Tensor]:
    """(N,) values, and the (4, N) numbers the gradient needs. ``prior`` is (C,) or from ``counted``."""
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    values, state = (logits.new_empty(size, dtype=torch.float32) for size in (rows, (STATE_ROWS, rows)))
    tile, width = blind_tile(classes, rows, True), width_of(logits)
    asked = ending(mean, state)
    start(
        prior_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            logits,
            target,
            prior,
            values,
            state,
            *asked[:3],
            rows,
            classes,
            *logits.stride(),
            ignored_label(batch),
            beta,
            asked[3],
            len(prior) > classes,
            logits.stride(1) == 1,
            tile.rows,
            tile.block // width,
            width,
        ),
        contract=True,
    )
    finish(mean, values, values, target, ignored_label(batch))
    return values, state


def prior_gradient(
    batch: Batch, prior: Tensor, beta: float, state: Tensor, upstream: Tensor, count: Tensor | None
) -> Tensor:
    """The gradient of the logits; ``upstream`` is (N,) or one number, over ``count`` if that is given."""
    logits, target = batch.logits, batch.target.contiguous()
    rows, classes = logits.shape
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    tile = blind_tile(classes, rows, True)
    start(
        prior_gradient_kernel,
        (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            logits,
            target,
            prior,
            state,
            upstream,
            state if count is None else count,
            out,
            rows,
            classes,
            *logits.stride(),
            ignored_label(batch),
            upstream.stride(0) if upstream.dim() else 0,
            beta,
            count is not None,
            len(prior) > classes,
            logits.stride(1) == 1,
            tile.rows,
            tile.block,
            tile.blocks,
        ),
        contract=True,
    )
    return out
