"""From when on to listen: a network that has not learned yet contradicts right labels too."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics.blocks import blocks

AS_SURE, AHEAD = 0.9, 5
"""An epoch is heard once its sureness is this share of the best agreement of as many epochs from it on."""
LIFT, HALF_SURE = 0.2, 0.5
"""Agreement must have gone this share of its way from blind to the best of the run."""


class Progress(NamedTuple):
    """How far the network was at each epoch.

    Shape:
        agreed (E,): share of samples for which it said what the label says; sure (E,): mean probability it
        gave to the label of these; both 0 where there are none
    """

    agreed: Tensor
    sure: Tensor
    blind: float = 0.0
    """Agreement of who always says the most frequent label."""


def progress(record: Record) -> Progress:
    """Agreement with the given labels, and how sure it was, at every epoch."""
    seen, right, sure = torch.zeros(3, record.epochs, dtype=torch.float64)
    for block in blocks(record):
        seen += block.seen.sum(1)
        right += block.right.sum(1)
        sure += torch.where(block.right, block.margin.sigmoid(), 0.0).sum(1, dtype=torch.float64)
    blind = float(torch.bincount(record.label).max()) / max(len(record), 1)
    return Progress(right / seen.clamp_min(1), sure / right.clamp_min(1), blind)


def learned_from(found: Progress) -> int | None:
    """The first epoch, counted from 0, whose votes mean something; None if there is no such epoch.

    Chosen:
        what a network has learned it is also sure of. Its sureness settles at the share of right labels, the
        share it agrees with; while it learns, agreement runs ahead, now or in the epochs to come. So the
        first epoch counts that is nearly as sure as the network is soon right, and distinctly better than
        blind. Labels learned by heart come later and more slowly, and cannot hold it back.
    Example:
        >>> agreed, sure = torch.tensor([0.1, 0.5, 0.8, 0.8]), torch.tensor([0.1, 0.2, 0.5, 0.8])
        >>> learned_from(Progress(agreed, sure)), learned_from(Progress(agreed, sure / 2))
        (3, None)
    """
    epochs = len(found.agreed)
    soon = torch.stack([found.agreed[epoch : epoch + AHEAD].max() for epoch in range(epochs)])
    better = found.agreed - found.blind > LIFT * (found.agreed.max() - found.blind).clamp_min(0)
    ready = (better & (found.sure >= AS_SURE * soon) & (found.sure > 0)).nonzero()
    return int(ready[0]) if len(ready) else None


def learns_by_heart(found: Progress, begin: int) -> bool:
    """Whether sureness fell behind agreement from the first epochs heard to the last.

    A label learned by heart is agreed with before the network is sure of it, and others stay less sure as
    long as the wrong ones pull: agreement gained so is bought with sureness. Where sureness kept pace, what
    came late was learned like the rest.
    Example:
        >>> by_heart = Progress(torch.tensor([0.6] * 5 + [0.9] * 5), torch.tensor([0.6] * 5 + [0.7] * 5))
        >>> learns_by_heart(by_heart, 0), learns_by_heart(Progress(by_heart.sure, by_heart.sure), 0)
        (True, False)
    """
    ratio = (found.sure / found.agreed.clamp_min(1e-9))[begin:]
    few = min(AHEAD, len(ratio))
    return float(ratio[-few:].mean()) < float(ratio[:few].mean())


def is_weak(found: Progress, begin: int | None, end: int) -> bool:
    """Whether the epochs ``begin`` to ``end`` contradict labels on no good ground.

    That is so if the network never learned, or is less than half sure even of labels it agrees with: then it
    is, by its own account, rather wrong than right where it contradicts one.
    """
    return begin is None or float(found.sure[begin:end].mean()) < HALF_SURE
