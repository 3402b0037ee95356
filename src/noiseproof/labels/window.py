"""The last epoch to use: before the network memorises wrong labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics.blocks import Block, blocks

MIN_EPOCHS = 5
"""Predictions of fewer epochs are too noisy to choose by."""
CANDIDATES = 24
AS_GOOD = 0.99
"""Windows whose quality is at least this share of the best count as equal; the shortest of them is used."""


def epochs_of(record: Record, part: slice) -> Record:
    """The same samples, some of the epochs."""
    margin, prediction = record.margin[part], record.prediction[part]
    return Record(record.index, record.label, None, record.class_names, margin, prediction)


def candidates(epochs: int) -> list[int]:
    """Numbers of first epochs to choose among, evenly spaced on a log scale.

    Example:
        >>> candidates(10), candidates(3)
        ([5, 6, 7, 8, 9, 10], [3])
    """
    fewest = min(MIN_EPOCHS, epochs)
    steps = [fewest * (epochs / fewest) ** (step / (CANDIDATES - 1)) for step in range(CANDIDATES)]
    return sorted({round(step) for step in steps})


def best_window(record: Record, begin: int = 0) -> int:
    """The end of the epochs, from ``begin`` on, whose mean margin best separates contradicted labels.

    Chosen:
        the quality of a window is the squared correlation, over samples, of the mean margin of epochs
        begin+1..t and of "another class was predicted more often in them than the given label". While a
        network learns general patterns, contradicted labels have low margins; as it memorises wrong labels,
        fewer are contradicted and margins become similar. The smallest t within 1% of the best
        quality is taken: memorisation only grows with time, so the shorter of two equal windows is safer.
        With robust losses, which do not memorise, most epochs are kept. Clean labels are not used.
    """
    choices = candidates(record.epochs - begin)
    if len(choices) == 1:
        return begin + choices[0]
    sums = torch.zeros(len(choices), 6, dtype=torch.float64)
    for block in blocks(epochs_of(record, slice(begin, None)), record.num_classes):
        sums += _sums(block, choices, record.num_classes)
    quality = [_squared_correlation(row) for row in sums.tolist()]
    enough = AS_GOOD * max(quality)
    return begin + next(choice for choice, found in zip(choices, quality, strict=True) if found >= enough)


def _sums(block: Block, choices: list[int], num_classes: int) -> Tensor:
    """(choices, 6): number, and sums of x, y, xx, yy, xy; x is the mean margin, y is 1 if contradicted."""
    counts = torch.zeros(len(block.label), num_classes)
    rows, found, done = torch.arange(len(block.label)), [], 0
    for choice in choices:
        part = slice(done, choice)
        seen = block.seen[part].float()
        counts.scatter_add_(1, block.prediction[part].clamp_min(0).long().T, seen.T)
        done = choice
        visits = block.seen[:choice].sum(0)
        known = visits > 0
        x = (block.margin[:choice].nansum(0) / visits)[known].double()
        y = (counts.amax(1) > counts[rows, block.label])[known].double()
        terms = [known.sum().double(), x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()]
        found.append(torch.stack(terms))
    return torch.stack(found)


def _squared_correlation(sums: list[float]) -> float:
    number, x, y, xx, yy, xy = sums
    spread = (number * xx - x * x) * (number * yy - y * y)
    return (number * xy - x * y) ** 2 / spread if spread > 0 and math.isfinite(spread) else 0.0
