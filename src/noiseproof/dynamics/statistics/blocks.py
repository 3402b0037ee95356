"""Blocks of samples, which bound the memory of statistics of large records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..record import Record

CELLS = 2**22
"""Number of cells of a block: 16 MB for a column of float32."""


class Block(NamedTuple):
    """A part of the samples at every epoch.

    Shape:
        margin (E, B) float32, prediction (E, B) int32, seen (E, B) bool, label (B,)
    """

    margin: Tensor
    prediction: Tensor
    seen: Tensor
    """Whether the epoch visited the sample."""
    label: Tensor

    @property
    def right(self) -> Tensor:
        """(E, B) bool, whether the prediction equals the label."""
        return (self.prediction == self.label) & self.seen

    @property
    def visits(self) -> Tensor:
        """(B,) float32 number of visits; NaN for a sample that was never visited, so that means are NaN."""
        count = self.seen.sum(0).float()
        return torch.where(count > 0, count, torch.nan)


def blocks(record: Record, width: int = 0) -> Iterator[Block]:
    """Iterate over the samples in order; ``width`` is the number of additional cells per sample."""
    size = max(1, CELLS // max(record.epochs, width, 1))
    for start in range(0, len(record), size):
        part = slice(start, start + size)
        margin = record.margin[:, part].float()
        yield Block(margin, record.prediction[:, part], ~margin.isnan(), record.label[part])


def over_blocks(record: Record, statistic: Callable[[Block], Tensor], width: int = 0) -> Tensor:
    """(N,) float32: the concatenated statistics of all blocks."""
    if not record.epochs:
        return torch.full((len(record),), torch.nan)
    found = [statistic(block).float() for block in blocks(record, width)]
    return torch.cat(found) if found else torch.zeros(0)


def last_seen(seen: Tensor) -> Tensor:
    """(E, B) int64: the last epoch up to and including each epoch that visited the sample, or 0."""
    number = torch.arange(len(seen)).unsqueeze(1)
    return torch.where(seen, number, 0).cummax(0).values
