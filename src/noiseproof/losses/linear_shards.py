"""Classes shared out over a process group: which losses that suits, and what all processes check."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from ..kernels import of_margin, values_can_be_checked
from ..kernels.linear.chunks import rows_per_chunk
from ..kernels.linear.shard_rows import Question
from ..kernels.linear.shard_sums import number_of_sums
from ..kernels.linear.shards import DTYPES, Part, meet
from ..kernels.linear.sweep import Projection
from ..kernels.tracing import in_transform
from .algebra import Sum
from .base import REDUCTIONS, Loss
from .linear_batch import Given, LinearBatch, linear_batch
from .margin_loss import MarginLoss
from .peer import Peer
from .rows import Rows

PLAIN_MARGIN = of_margin(lambda margin: (margin, torch.full_like(margin, -1.0)))


def is_shared_out(group: dist.ProcessGroup) -> bool:
    """True if other processes hold classes, too."""
    if not dist.is_available() or not isinstance(group, dist.ProcessGroup):
        raise TypeError(
            f"group={group!r} must be a process group of torch.distributed that this process belongs to"
            " (of a DeviceMesh: mesh.get_group())"
        )
    return dist.get_world_size(group) > 1


def takes_shards(loss: Loss) -> bool:
    """True if statistics of a row are all it asks for."""
    if isinstance(loss, (Sum, Peer)):
        return all(takes_shards(part) for part in loss.inner)
    return isinstance(loss, MarginLoss) or loss.row_function(3, 1.0) is not None


def refuse_what_needs_all_logits(loss: Loss) -> None:
    if not takes_shards(loss):
        raise TypeError(
            f"{loss} looks at every logit of a row: gather the weight and leave out group, or use a loss of"
            " row statistics (a MarginLoss, nce, gls, mse, sums and peer of these)"
        )


def sharded(
    group: dist.ProcessGroup,
    given: Given,
    check: Callable[[], None] | None = None,
    weights: tuple[Tensor | None, Tensor | None] = (None, None),
    **alike: int,
) -> LinearBatch:
    """The batch, checked here and compared with those of the other processes: all refuse it, or none.

    ``weights`` are those of classes and of samples, which must be alike as the targets are.
    """
    part, problem = Part(), None
    try:
        _refuse_other_tensors(given)
        if check is not None:
            check()
        batch = linear_batch(*given)
        part = _part(batch, alike)
    except Exception as found:
        problem = found
    hidden, _, target, *_ = given
    marked = (target, *weights) if problem is None else (None, None, None)
    shards = meet(group, part, marked, hidden.device, problem)
    rows, width = batch.shape.numel(), batch.hidden.shape[-1]
    chunk = batch.chunk or rows_per_chunk(rows, width, max(1, *shards.sizes))
    return batch._replace(shards=shards, chunk=chunk)


def _refuse_other_tensors(given: Given) -> None:
    if in_transform():
        raise TypeError("torch.func cannot transform what several processes compute: leave out group")
    for name, tensor in zip(("hidden", "weight", "target", "bias"), given, strict=False):
        if hasattr(tensor, "to_local"):
            raise TypeError(f"{name} is a DTensor: pass {name}.to_local(), what this process holds")
    target = given[2]
    if target.is_floating_point():
        raise TypeError(
            f"target is {target.dtype}: with group it must hold class indices; for soft targets gather the"
            " weight and leave out group"
        )


def _part(batch: LinearBatch, alike: dict[str, int]) -> Part:
    dtype = batch.hidden.dtype
    batch._replace(chunk=1).projection()  # refuses dtypes that do not fit
    return Part(
        is_broken=0,
        size=batch.weight.shape[0],
        rows=batch.shape.numel(),
        width=batch.hidden.shape[-1],
        dtype=DTYPES.index(dtype) if dtype in DTYPES else len(DTYPES),
        learns=int(torch.is_grad_enabled() and batch.hidden.requires_grad),
        chunk=batch.chunk or 0,
        **alike,
    )


def alike_of(loss: Loss) -> dict[str, int]:
    """What the processes must agree about: more or fewer sums would not meet in a collective."""
    function = loss.row_function(3, 1.0)
    return {
        "sums": 0 if function is None else number_of_sums(function.wanted),
        "reduction": REDUCTIONS.index(loss.reduction),
        "loss": zlib.crc32(f"{loss} {loss.ignore_index}".encode()),
    }


def question_of(loss: Loss | None, projection: Projection, rows: Rows) -> Question:
    """What a loss that takes shards asks; None asks for the margin."""
    function = PLAIN_MARGIN if loss is None else loss.row_function(rows.logits.shape[1], 1.0)
    assert projection.shards is not None
    assert function is not None
    return Question(projection.shards, rows.target, rows.keep, function, check_rows)


def check_rows(margin: Tensor, start: int) -> None:
    """Raise ValueError naming the first row whose margin is not finite; its logits lie elsewhere, too."""
    if not values_can_be_checked(margin) or math.isfinite(margin.sum().item()):
        return
    bad = (~margin.isfinite()).nonzero()
    if len(bad):
        row = int(bad[0])
        raise ValueError(
            f"the margin of row {start + row} is {float(margin[row])}: a logit is nan or inf, or the label or"
            " every other class is masked"
        )
