"""Launching what adds up a batch: the last program of the first pass, or a kernel of its own."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..tickets import Ticket, next_ticket
from .mean import MODES, mean_kernel
from .start import start

MEAN_BLOCK = 1024
WARPS = 8


class Mean(NamedTuple):
    """Where the first pass puts the mean over the rows that count, and their number; no rows give 0.

    ``by_weight`` divides values and derivatives by the mean weight, in place and before the mean is taken:
    a weight is twice the emphasis, which is the derivative with respect to the margin up to its sign.
    """

    found: Tensor
    rows: Tensor
    by_weight: bool
    ticket: Ticket | None
    """None if no kernel but one of its own can take it."""


def mean_of(logits: Tensor, by_weight: bool = False) -> Mean:
    found, rows = (logits.new_empty((), dtype=torch.float32) for _ in range(2))
    return Mean(found, rows, by_weight, next_ticket(logits))


def ending(mean: Mean | None, filler: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
    """What ``mean.take_last`` needs: ticket, places for mean and number of rows, and how."""
    if mean is None or mean.ticket is None:
        return filler, filler, filler, 0
    return mean.ticket.number, mean.found, mean.rows, MODES[mean.by_weight]


def take(mean: Mean, values: Tensor, slopes: Tensor, target: Tensor, ignored: int) -> None:
    """The mean of (N,) values by a kernel of its own; one program, so always alike."""
    arguments = (values, slopes, target.contiguous(), mean.found, mean.rows)
    sizes = (len(values), ignored, mean.by_weight, MEAN_BLOCK)
    start(mean_kernel, (1, 1, 1), WARPS, (*arguments, *sizes))


def finish(mean: Mean | None, values: Tensor, slopes: Tensor, target: Tensor, ignored: int) -> None:
    """What is left to do after a kernel that was given ``ending``."""
    if mean is not None and mean.ticket is None:
        take(mean, values, slopes, target, ignored)
