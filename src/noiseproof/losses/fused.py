"""The short way of a batch: through the kernels on a GPU, through the compiled operator on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..kernels import (
    Call,
    Recording,
    RowFunction,
    cpu_operator,
    fused_loss,
    is_plain_eager,
    record,
    uses_kernels,
)
from .compiled import compiled, function_of, has_company, is_divided_by_mean
from .fingerprint import fingerprint

if TYPE_CHECKING:
    from .base import Loss

MOST_ROWS_OF_ONE_MEAN = 1 << 16
"""One program adds up the mean; of more rows torch does it faster."""
MOST_RECORDINGS = 1024
_recordings: dict[tuple[object, ...], Recording | None] = {}


def can_be_fused(logits: Tensor, target: Tensor) -> bool:
    """Class indices beside (N, C) logits that the kernels take."""
    return (
        uses_kernels(logits)
        and target.dtype == torch.int64
        and target.shape == logits.shape[:1]
        and target.device == logits.device
        and is_plain_eager()
    )


def fused(loss: Loss, logits: Tensor, target: Tensor) -> Tensor | None:
    """The reduced loss without weights; None if it is no recordable function of row statistics here."""
    if cpu_operator.takes(logits):
        there = target.dtype == torch.int64 and target.is_cpu and is_plain_eager()
        return compiled(loss, logits, target, loss.ignore_index, loss.reduction) if there else None
    if not can_be_fused(logits, target):
        return None
    rows, classes = logits.shape
    by_weight, is_small = is_divided_by_mean(loss), rows <= MOST_ROWS_OF_ONE_MEAN
    if by_weight and (not is_small or has_company()):
        return None
    function = function_of(loss, classes, by_weight)
    recording = None if function is None else recording_of(loss, function, classes, by_weight)
    if function is None or recording is None:
        return None
    mean, ignored = loss.reduction == "mean", loss.ignore_index
    one_program = mean and is_small

    def again(other: Tensor) -> Tensor:
        return plain(loss, other, target, one_program)

    call = Call(target, function, again, recording, None, ignored, one_program, by_weight)
    return reduced(loss, fused_loss(logits, call), target, one_program)


def reduced(loss: Loss, found: Tensor, target: Tensor, is_mean: bool) -> Tensor:
    """What is left to do with rows from the kernels, 0 where ignored, or with their mean."""
    if loss.reduction == "mean" and not is_mean:
        return found.sum() / (target != loss.ignore_index).sum().clamp_min(1)
    return found.sum() if loss.reduction == "sum" else found


def recording_of(
    loss: Loss, function: RowFunction, classes: int, by_weight: bool = False
) -> Recording | None:
    """Recorded once per loss, parameters and number of classes, or anew where those do not tell all.

    ``by_weight``: the function is the loss before it is divided by the mean weight of the batch.
    """
    marks = fingerprint(loss)
    if marks is None:
        return record(function)
    key = (classes, by_weight, *marks)
    if key not in _recordings:
        if len(_recordings) >= MOST_RECORDINGS:
            _forget_recordings()
        _recordings[key] = record(function)
    return _recordings[key]


def _forget_recordings() -> None:
    """All but those with tables, which captured graphs may read."""
    for key in [key for key, known in _recordings.items() if known is None or not known.tables]:
        del _recordings[key]


def plain(loss: Loss, logits: Tensor, target: Tensor, mean: bool, kept: Tensor | None = None) -> Tensor:
    """The same numbers as expressions torch differentiates again; ``kept`` as in ``kept_rows``."""
    from .rows import as_rows
    from .statistics_loss import RowLoss

    rows = as_rows(logits, target, loss.ignore_index)
    if kept is not None and isinstance(loss, RowLoss):
        values = loss.kept_rows(rows, kept)
    else:
        values = loss.hard_rows(rows)
    if not mean:
        return values
    count = values.numel() if rows.keep is None else rows.keep.sum().clamp_min(1)
    return values.sum() / count
