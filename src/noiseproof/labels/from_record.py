"""Evidence from a run's record: margins and votes of the epochs worth listening to."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics import correctness, mean_margin
from ..dynamics.statistics.blocks import Block, blocks
from .evidence import Evidence, lowest_with_best_f1, standard
from .window import epochs_of

NOTHING = -1
LAST, SAY = 5, 1 / 3
"""The last epochs are this part of all; the window counts 1 and they count at most that."""


class Votes(NamedTuple):
    """What the epochs of the window said of each sample, (N,) each; ``against`` = share of votes not for the
    label, ``beaten`` where another class had more, ``hopeless`` where the label never won and never was as
    likely as by a blind guess, the frequency of its class."""

    margin: Tensor
    against: Tensor
    beaten: Tensor
    predicted: Tensor
    other: Tensor
    hopeless: Tensor


def record_evidence(record: Record, heard: slice, *, late: bool = False, weak: bool = False) -> Evidence:
    """Mean margin and votes of the epochs ``heard``; if ``late``, the last ones have a say too.

    A label is wrong with the chance: mean of the share of votes against it and of whether another class won,
    smoothed over labels of similar margins. Samples these epochs missed are judged by all. If the votes are
    weak, only as many labels are suspected as never won.
    """
    votes = votes_of(epochs_of(record, heard))
    missed = votes.margin.isnan()
    if bool(missed.any()):
        whole = votes_of(record)
        votes = Votes(*(torch.where(missed, *pair) for pair in zip(whole, votes, strict=True)))
    known = ~votes.margin.isnan()
    margin = with_late(record, votes.margin, votes.beaten[known]) if late else votes.margin.clone()
    chance = (votes.against + votes.beaten)[known] / 2
    suspects = int(votes.hopeless.sum()) if weak else lowest_with_best_f1(margin[known], chance)
    wrong = torch.full_like(margin, torch.nan)
    heard_of = len(record.margin[heard])
    wrong[known] = (heard_of * falling(margin[known], chance) + 0.5) / (heard_of + 1)
    return Evidence(margin, votes.predicted, votes.other, wrong, suspects, weak)


def falling(margin: Tensor, chance: Tensor) -> Tensor:
    """The chance as the function of the margin that never rises and is nearest (isotonic regression)."""
    from sklearn.isotonic import isotonic_regression

    if not len(margin):
        return margin
    order = margin.argsort(stable=True)
    fitted = isotonic_regression(chance[order].double().numpy(), increasing=False)
    found = torch.empty_like(margin)
    found[order] = torch.from_numpy(fitted.copy()).to(found)
    return found


def with_late(record: Record, margin: Tensor, beaten: Tensor) -> Tensor:
    """The margins of the window, standardised, plus those of the last fifth of the epochs times their say.

    Say:
        a third, times the share of votes against labels at the end over the share of labels beaten in the
        window, at most 1: a network that has learned the wrong labels by heart is hardly heard, one that
        still contradicts them knows more at the end than at the beginning.
    """
    last = epochs_of(record, slice(-max(1, record.epochs // LAST), None))
    agreed = correctness(last)
    still = 1 - float(agreed[~agreed.isnan()].mean()) if not bool(agreed.isnan().all()) else 0.0
    say = SAY * min(1.0, still / float(beaten.mean())) if bool(beaten.any()) else 0.0
    early, late = standard(margin), standard(mean_margin(last))
    return early + say * torch.where(late.isnan(), early, late)


def votes_of(record: Record) -> Votes:
    """``guess`` is the margin of who knows how frequent the classes are, and nothing else."""
    guess = torch.logit(torch.bincount(record.label, minlength=record.num_classes) / max(len(record), 1))
    found = [_count(block, guess) for block in blocks(record, record.num_classes)]
    return Votes(*(torch.cat(column) for column in zip(*found, strict=True)))


def _count(block: Block, guess: Tensor) -> Votes:
    rows = torch.arange(len(block.label))
    votes = torch.zeros(len(rows), len(guess))
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
        hopeless=(own == 0) & ~(block.margin >= guess[block.label]).any(0) & block.seen.any(0),
    )
