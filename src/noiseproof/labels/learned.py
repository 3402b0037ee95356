"""The first epoch to use: a network that has not learned yet contradicts correct labels too."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics.blocks import blocks

AS_CONFIDENT, AHEAD = 0.9, 5
"""An epoch is used once its confidence is this share of the best agreement of as many epochs from it on."""
LIFT, HALF = 0.2, 0.5
"""Agreement must have covered this share of the way from the majority share to the best of the run."""


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
