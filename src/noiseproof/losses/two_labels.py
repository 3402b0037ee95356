"""One loss of every row under two labels, on the kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels import Call, Pair, is_plain_eager, pair_rows
from .base import Loss
from .fused import recording_of
from .margin_loss import MarginLoss
from .rows import Rows


def of_two_labels(loss: Loss, rows: Rows, second: Tensor) -> tuple[Tensor, Tensor] | None:
    """Unreduced losses under ``rows.target`` and under ``second``, both (N,).

    None if the loss is no function of row statistics, or where torch traces: there they are taken in turn.
    """
    if not is_plain_eager():
        return None
    classes = rows.logits.shape[1]
    keep = torch.ones_like(second, dtype=torch.bool) if rows.keep is None else rows.keep
    function = loss.row_function(classes, keep if isinstance(loss, MarginLoss) else keep.unsqueeze(1))
    if function is None:
        return None
    recording = recording_of(loss, function, classes)

    def under(target: Tensor) -> Call:
        def again(logits: Tensor) -> Tensor:
            return loss.hard_rows(rows._replace(logits=logits, target=target))

        return Call(target, function, again, recording, keep)

    return pair_rows(rows.logits, Pair(under(rows.target), under(second)))
