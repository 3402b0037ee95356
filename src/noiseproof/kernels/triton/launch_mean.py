"""Launching the kernel that adds up a batch."""

from __future__ import annotations

from torch import Tensor

from .launch import Batch, First, ignored_label
from .mean import mean_kernel
from .start import start

MEAN_BLOCK = 1024
WARPS = 8


def mean(first: First, batch: Batch, by_weight: bool = False) -> tuple[Tensor, Tensor]:
    """The mean over rows that count and their number, both 0-dimensional; no rows give 0.

    ``by_weight`` divides values and derivatives by the mean weight, in place and before the mean is taken:
    a weight is twice the emphasis, which is the derivative with respect to the margin up to its sign.
    """
    values = first.values
    found, count = values.new_empty(()), values.new_empty(())
    sizes = (len(values), ignored_label(batch), by_weight, MEAN_BLOCK)
    arguments = (values, first.partials, batch.target.contiguous(), found, count, *sizes)
    start(mean_kernel, (1, 1, 1), WARPS, arguments)
    return found, count
