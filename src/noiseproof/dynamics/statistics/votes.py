"""Statistics of how often each class was predicted for a sample."""

from __future__ import annotations

import torch
from torch import Tensor

from ..record import Record
from .blocks import Block, over_blocks


def majority_prediction(record: Record) -> Tensor:
    """(N,) int64: the class predicted at most epochs; ties are resolved to the given label, then to the
    smallest class; -1 for a sample that was never visited.

    Example:
        >>> from noiseproof.dynamics import Record
        >>> prediction = torch.tensor([[0, 1], [2, 1], [2, -1], [2, 0]]).int()
        >>> margin = torch.where(prediction < 0, torch.nan, 0.0).half()
        >>> record = Record(torch.arange(2), torch.tensor([0, 0]), None, ("a", "b", "c"), margin, prediction)
        >>> majority_prediction(record), disagreement(record)
        (tensor([2, 1]), tensor([0.5000, 0.3333]))
    """

    def chosen(block: Block) -> Tensor:
        votes = _votes(block, record.num_classes)
        own = votes.gather(1, block.label[:, None]).squeeze(1)
        most, found = votes.max(1)
        found = torch.where(own == most, block.label, found)
        return torch.where(most > 0, found, -1)

    return over_blocks(record, chosen, record.num_classes).nan_to_num(-1.0).long()


def disagreement(record: Record) -> Tensor:
    """Share of visits that predicted the most frequent class minus the share that predicted the given label:
    0 if the label is a most frequent class, 1 if another class was always predicted. (N,) in [0, 1].
    """

    def lead(block: Block) -> Tensor:
        votes = _votes(block, record.num_classes)
        own = votes.gather(1, block.label[:, None]).squeeze(1)
        return (votes.amax(1) - own) / block.visits

    return over_blocks(record, lead, record.num_classes)


def _votes(block: Block, num_classes: int) -> Tensor:
    """(B, C) float32: how often each class was predicted."""
    votes = torch.zeros(len(block.label), num_classes)
    return votes.scatter_add_(1, block.prediction.clamp_min(0).long().T, block.seen.float().T)
