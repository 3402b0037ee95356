"""Statistics go over the samples block by block, so that a record of any length needs little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ..record import Record

CELLS = 2**22
"""Cells of a block: 16 MB for a column of float32."""


class Block(NamedTuple):
    """Some samples at every epoch.

    Shape:
        margin (E, B) float32, prediction (E, B) int32, seen (E, B) bool, label (B,)
    """

    margin: Tensor
    prediction: Tensor
    seen: Tensor
    """Where the epoch visited the sample."""
    label: Tensor

    @property
    def right(self) -> Tensor:
        """(E, B) bool, where the prediction equals the label."""
        return (self.prediction == self.label) & self.seen

    @property
    def visits(self) -> Tensor:
        """(B,) float32, NaN for a sample that was never visited: what is divided by it is NaN too."""
        count = self.seen.sum(0).float()
        return torch.where(count > 0, count, torch.nan)


def blocks(record: Record, width: int = 0) -> Iterator[Block]:
    """The samples in order; ``width`` is the number of cells a sample needs beside its epochs."""
    size = max(1, CELLS // max(record.epochs, width, 1))
    for start in range(0, len(record), size):
        part = slice(start, start + size)
        margin = record.margin[:, part].float()
        yield Block(margin, record.prediction[:, part], ~margin.isnan(), record.label[part])


def over_blocks(record: Record, statistic: Callable[[Block], Tensor], width: int = 0) -> Tensor:
    """(N,) float32: the statistic of every block, one after the other."""
    if not record.epochs:
        return torch.full((len(record),), torch.nan)
    found = [statistic(block).float() for block in blocks(record, width)]
    return torch.cat(found) if found else torch.zeros(0)


def last_seen(seen: Tensor) -> Tensor:
    """(E, B) int64: number of the newest visit up to and with each epoch; 0 before the first."""
    number = torch.arange(len(seen)).unsqueeze(1)
    return torch.where(seen, number, 0).cummax(0).values
