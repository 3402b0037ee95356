"""The epochs of a record to use: after the network has learned, and before it memorises wrong labels."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics.blocks import Block, blocks

AS_CONFIDENT, AHEAD = 0.9, 5
"""An epoch is used once its confidence is this share of the best agreement of as many epochs from it on."""
LIFT, HALF = 0.2, 0.5
"""Agreement must have covered this share of the way from the majority share to the best of the run."""

MIN_EPOCHS = 5
"""Predictions of fewer epochs are too noisy to choose the last epoch by."""
CANDIDATES = 24
AS_GOOD = 0.99
"""Windows whose quality is at least this share of the best count as equal; the shortest of them is used."""


class Progress(NamedTuple):
    """How far the network was at each epoch.

    Shape:
        agreement (E,): share of samples whose given label was predicted; confidence (E,): mean probability of
        the given label over these samples; both 0 in epochs without any
    """

    agreement: Tensor
    confidence: Tensor
    majority: float = 0.0
    """Share of the most frequent label: the agreement of a constant prediction."""


def progress(record: Record) -> Progress:
    """Agreement with the given labels, and confidence in them, at every epoch."""
    seen, right, sure = torch.zeros(3, record.epochs, dtype=torch.float64)
    for block in blocks(record):
        seen += block.seen.sum(1)
        right += block.right.sum(1)
        sure += torch.where(block.right, block.margin.sigmoid(), 0.0).sum(1, dtype=torch.float64)
    majority = float(torch.bincount(record.label).max()) / max(len(record), 1)
    return Progress(right / seen.clamp_min(1), sure / right.clamp_min(1), majority)


def first_learned_epoch(found: Progress) -> int | None:
    """The first epoch, counted from 0, whose predictions are evidence about labels; None if there is none.

    Chosen:
        the first epoch whose confidence is close to the highest agreement of the next epochs, and whose
        agreement is clearly higher than that of a constant prediction. While a network learns, its agreement
        is higher than its confidence, in the same epoch or in the next ones; afterwards both are close to
        the share of correct labels. Labels are memorised later and more slowly, which does not delay the
        epoch.
    Example:
        >>> agreement = torch.tensor([0.1, 0.5, 0.8, 0.8])
        >>> confidence = torch.tensor([0.1, 0.2, 0.5, 0.8])
        >>> first_learned_epoch(Progress(agreement, confidence))
        3
        >>> first_learned_epoch(Progress(agreement, confidence / 2))
    """
    epochs = len(found.agreement)
    soon = torch.stack([found.agreement[epoch : epoch + AHEAD].max() for epoch in range(epochs)])
    gained = found.agreement - found.majority
    better = gained > LIFT * (found.agreement.max() - found.majority).clamp_min(0)
    ready = (better & (found.confidence >= AS_CONFIDENT * soon) & (found.confidence > 0)).nonzero()
    return int(ready[0]) if len(ready) else None


def memorises(found: Progress, begin: int) -> bool:
    """Whether confidence fell behind agreement between epoch ``begin`` and the last ones.

    A network predicts a memorised label before it is confident of it, and is less confident of other labels
    while it memorises wrong ones: agreement grows faster than confidence. If confidence grew as fast, the
    labels that were learned late were not memorised.

    Example:
        >>> agreement = torch.tensor([0.6] * 5 + [0.9] * 5)
        >>> confidence = torch.tensor([0.6] * 5 + [0.7] * 5)
        >>> memorises(Progress(agreement, confidence), 0), memorises(Progress(confidence, confidence), 0)
        (True, False)
    """
    ratio = (found.confidence / found.agreement.clamp_min(1e-9))[begin:]
    few = min(AHEAD, len(ratio))
    return float(ratio[-few:].mean()) < float(ratio[:few].mean())


def is_weak(found: Progress, begin: int | None, end: int) -> bool:
    """Whether the predictions of epochs ``begin`` to ``end`` are too weak to contradict labels.

    That is so if the network never learned, or if its mean confidence is below one half even in labels it
    agrees with: then it is, by its own probabilities, more often wrong than right where it contradicts one.
    """
    return begin is None or float(found.confidence[begin:end].mean()) < HALF


# The last epoch -----------------------------------------------------------------------------------


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
