"""Evidence from a run's record: margins and votes of the epochs worth listening to."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics.blocks import Block, blocks
from .evidence import Evidence, lowest_with_best_f1
from .unlearned import align

NOTHING = -1


class Votes(NamedTuple):
    """What the epochs of the window said of each sample, (N,) each; ``against`` = share of votes not for the
    label, ``beaten`` where another class had more."""

    margin: Tensor
    against: Tensor
    beaten: Tensor
    predicted: Tensor
    other: Tensor


def record_evidence(record: Record, window: int) -> Evidence:
    """Mean margin and votes of the first ``window`` epochs.

    A label is wrong with the chance: mean of the share of votes against it and of whether another class won.
    """
    found = [
        _count(block, record.num_classes) for block in blocks(_first(record, window), record.num_classes)
    ]
    votes = Votes(*(torch.cat(column) for column in zip(*found, strict=True)))
    known = ~votes.margin.isnan()
    margin = votes.margin.clone()
    margin[known] = align(margin[known], record.label[known], votes.predicted[known], record.num_classes)
    wrong = (votes.against + votes.beaten) / 2
    suspects = lowest_with_best_f1(margin[known], wrong[known])
    return Evidence(margin, votes.predicted, votes.other, suspects)


def _first(record: Record, window: int) -> Record:
    margin, prediction = record.margin[:window], record.prediction[:window]
    return Record(record.index, record.label, None, record.class_names, margin, prediction)


def _count(block: Block, num_classes: int) -> Votes:
    rows = torch.arange(len(block.label))
    votes = torch.zeros(len(rows), num_classes)
    votes.scatter_add_(1, block.prediction.clamp_min(0).long().T, block.seen.float().T)
    own = votes[rows, block.label]
    votes[rows, block.label] = NOTHING
    most, other = votes.max(1)
    predicted = torch.where(most > own, other, block.label)
    return Votes(
        margin=block.margin.nansum(0) / block.visits,
        against=1 - own / block.visits,
        beaten=(most > own).float(),
        predicted=torch.where(block.visits.isnan(), NOTHING, predicted),
        other=torch.where(most > 0, other, NOTHING),
    )
