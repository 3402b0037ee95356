"""Launching the kernels of the blind loss, which counts every class of a row as if it were the label."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ..programs.class_program import needs_series
from ..programs.recorder import Program
from .blind import blind_kernel
from .blind_gradient import blind_gradient_kernel
from .launch import Batch, State, ignored_label, statistics
from .launch_join import joining
from .launch_mean import Mean, finish
from .launch_mean import ending as asked_of
from .start import start
from .tile import Tile, steps_of, tile_of, width_of

if TYPE_CHECKING:
    from ..sum_plan import SumPlan

MARGIN, BLIND = 0, 3
"""Rows of the state that are differentiable; peak and mass lie between them."""
STATE_ROWS = 7
PRIOR_TILE = Tile(2, 1024, 4, 8)


def blind_tile(classes: int, batch: int, has_prior: bool) -> Tile:
    """Rows taken together read the prior once."""
    return PRIOR_TILE if has_prior and classes > 2048 else tile_of(classes, batch)


class Ending(NamedTuple):
    """How the loss is made of the label's and the blind one."""

    values: Tensor
    """(N,): the label's loss, which the whole one replaces."""
    partials: Tensor
    """(1, N): the derivative of the label's with respect to the margin."""
    slopes: Tensor
    """(2, N): gets the derivatives of the whole with respect to margin and B; (5, N) of a sum."""
    beta: float | None
    """What B is multiplied with and taken away; None divides by B instead."""


def given(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, labels and which rows count, as the kernels take them."""
    target = batch.target.contiguous()
    return batch.logits, target, target if batch.keep is None else batch.keep.contiguous()


def sizes(batch: Batch) -> tuple[int, ...]:
    """Rows, classes, strides and the label that does not count."""
    return (*batch.logits.shape, *batch.logits.stride(), ignored_label(batch))


def blind(batch: Batch, prior: Tensor | None, program: Program) -> Tensor:
    """(7, N): margin, peak and mass, then B and what its gradient needs.

    ``prior`` is (C,) in float32, None where every class counts 1.
    """
    found = blind_of(batch, prior, program, statistics(batch, None).state)
    return torch.cat(found)


def parts(state: Tensor) -> tuple[Tensor, Tensor]:
    """What ``blind`` put together."""
    return state[:BLIND], state[BLIND:]


def blind_of(
    batch: Batch,
    prior: Tensor | None,
    program: Program,
    state: Tensor,
    ending: Ending | None = None,
    mean: Mean | None = None,
    join: SumPlan | None = None,
) -> tuple[Tensor, Tensor]:
    """Margin, peak and mass as given, and the (4, N) numbers of B. ``prior`` may end with a count of rows.

    ``mean`` is that of ``ending``, after ``join``: what cancels there does so exactly, so nothing is
    contracted then.
    """
    logits, (rows, classes) = batch.logits, batch.logits.shape
    found = logits.new_empty((STATE_ROWS - BLIND, rows), dtype=torch.float32)
    weight, how = joining(join, (int(State.SUM_Z), int(State.CLASSES)))
    tile, width = blind_tile(classes, rows, prior is not None), width_of(logits)
    asked = asked_of(mean, state)
    start(
        blind_kernel,
        (steps_of(rows, tile.rows), 1, 1),
        tile.warps,
        (
            *given(batch),
            state if prior is None else prior,
            state,
            found,
            *((found, found, found) if ending is None else ending[:3]),
            *asked[:3],
            *sizes(batch),
            *_combination(ending, weight),
            *how,
            asked[3],
            prior is not None and len(prior) > classes,
            batch.keep is not None,
            prior is not None,
            logits.stride(1) == 1,
            *program,
            tile.rows,
            tile.block // width,
            width,
        ),
        contract=join is None,
    )
    if ending is not None:
        finish(mean, ending.values, ending.values, batch.target, ignored_label(batch))
    return state, found


def _combination(ending: Ending | None, weight: float) -> tuple[float, float, int]:
    """beta, weight and the number of the way to combine, see ``blind.combined``."""
    if ending is None:
        return 1.0, weight, 0
    return (1.0, weight, 2) if ending.beta is None else (ending.beta, weight, 1)


def from_above(
    upstream: Tensor | None, count: Tensor | None, filler: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[int, bool, bool]]:
    """Tensors, then stride and flags, as ``gradient.scale_of`` wants them."""
    stride = upstream.stride(0) if upstream is not None and upstream.dim() else 0
    tensors = filler if upstream is None else upstream, filler if count is None else count
    return tensors, (stride, upstream is not None, count is not None)


def blind_gradient(
    batch: Batch,
    prior: Tensor | None,
    program: Program,
    found: tuple[Tensor, Tensor],
    slopes: Tensor,
    upstream: Tensor | None = None,
    count: Tensor | None = None,
) -> Tensor:
    """The gradient of the logits from the derivatives with respect to margin and B, ``slopes`` (2, N).

    Of a sum they are (5, N), see ``launch_join``. ``found`` is from ``blind_of``; ``upstream``, (N,) or one
    number, and the ``count`` of a mean scale the result.
    """
    logits, (rows, classes) = batch.logits, batch.logits.shape
    out = torch.empty_like(logits, memory_format=torch.contiguous_format)
    tile = blind_tile(classes, rows, prior is not None)
    above, how = from_above(upstream, count, slopes)
    start(
        blind_gradient_kernel,
        (steps_of(rows, tile.rows), steps_of(classes, tile.block * tile.blocks), 1),
        tile.warps,
        (
            *given(batch),
            slopes if prior is None else prior,
            *found,
            slopes,
            *above,
            out,
            *sizes(batch),
            *how,
            len(slopes) > 2,
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
