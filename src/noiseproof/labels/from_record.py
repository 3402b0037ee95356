"""Evidence from a run's record: margins and predictions of the epochs between learning and memorising."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..dynamics import Record
from ..dynamics.statistics import correctness, mean_margin
from ..dynamics.statistics.blocks import Block, blocks
from .epochs import epochs_of
from .evidence import Evidence, lowest_with_best_f1, standard

NOT_SEEN = -1
LAST_PART, MAX_WEIGHT = 5, 1 / 3
"""The last epochs are one part in so many; the window has weight 1 and they have at most this one."""


class Votes(NamedTuple):
    """Predictions of each sample in the epochs of the window, (N,) each; one prediction is one vote.

    ``against`` is the share of votes for other classes; ``beaten`` is 1 where another class had more votes
    than the label; ``hopeless`` where the label had no vote and its probability never exceeded its frequency.
    """

    margin: Tensor
    against: Tensor
    beaten: Tensor
    predicted: Tensor
    other: Tensor
    hopeless: Tensor


def record_evidence(record: Record, window: slice, *, weak: bool = False) -> Evidence:
    """Mean margin and votes of the epochs in ``window``, and in part of the last epochs.

    The probability that a label is wrong is the mean of the share of votes against it and of whether another
    class had more votes, as a monotone function of the margin; one more vote, the share of labels with higher
    margins, makes it strictly monotone. Samples that these epochs missed are judged by all epochs. If the
    votes are weak, only as many labels are suspected as had no vote at all.
    """
    votes = votes_of(epochs_of(record, window))
    missed = votes.margin.isnan()
    if bool(missed.any()):
        whole = votes_of(record)
        votes = Votes(*(torch.where(missed, *pair) for pair in zip(whole, votes, strict=True)))
    known = ~votes.margin.isnan()
    margin = with_last_epochs(record, votes.margin, votes.beaten[known])
    chance = (votes.against + votes.beaten)[known] / 2
    suspects = int(votes.hopeless.sum()) if weak else lowest_with_best_f1(margin[known], chance)
    wrong = torch.full_like(margin, torch.nan)
    epochs = len(record.margin[window])
    wrong[known] = (epochs * falling(margin[known], chance) + share_above(margin[known])) / (epochs + 1)
    return Evidence(margin, votes.predicted, votes.other, wrong, suspects, weak)


def falling(margin: Tensor, chance: Tensor) -> Tensor:
    """The non-increasing function of the margin that is nearest to ``chance`` (isotonic regression)."""
    from sklearn.isotonic import isotonic_regression

    if not len(margin):
        return margin
    order = margin.argsort(stable=True)
    fitted = isotonic_regression(chance[order].double().numpy(), increasing=False)
    found = torch.empty_like(margin)
    found[order] = torch.from_numpy(fitted.copy()).to(found)
    return found


def share_above(margin: Tensor) -> Tensor:
    """Share of the margins that are higher, where an equal one, such as the margin itself, counts half.

    Example:
        >>> share_above(torch.tensor([2.0, 0.0, 1.0, 1.0, 3.0]))
        tensor([0.3000, 0.9000, 0.6000, 0.6000, 0.1000])
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]

    return torch.from_numpy((rankdata(-margin.numpy()) - 0.5) / max(len(margin), 1)).to(margin)


def with_last_epochs(record: Record, margin: Tensor, beaten: Tensor) -> Tensor:
    """The margins of the window, standardised, plus a multiple of those of the last fifth of the epochs.

    Weight:
        a third, times the share of predictions other than the label at the end over the share of labels
        beaten in the window, at most 1. It is small if the network has memorised the wrong labels; a network
        that still contradicts them is more accurate at the end than at the beginning.
    """
    last = epochs_of(record, slice(-max(1, record.epochs // LAST_PART), None))
    agreed = correctness(last)
    still = 1 - float(agreed[~agreed.isnan()].mean()) if not bool(agreed.isnan().all()) else 0.0
    weight = MAX_WEIGHT * min(1.0, still / float(beaten.mean())) if bool(beaten.any()) else 0.0
    early, late = standard(margin), standard(mean_margin(last))
    return early + weight * torch.where(late.isnan(), early, late)


def votes_of(record: Record) -> Votes:
    """Votes, block by block; ``guess`` is the margin of a prediction from class frequencies alone."""
    guess = torch.logit(torch.bincount(record.label, minlength=record.num_classes) / max(len(record), 1))
    found = [_count(block, guess) for block in blocks(record, record.num_classes)]
    return Votes(*(torch.cat(column) for column in zip(*found, strict=True)))


def _count(block: Block, guess: Tensor) -> Votes:
    rows = torch.arange(len(block.label))
    votes = torch.zeros(len(rows), len(guess))
    votes.scatter_add_(1, block.prediction.clamp_min(0).long().T, block.seen.float().T)
    own = votes[rows, block.label]
    votes[rows, block.label] = NOT_SEEN
    most, other = votes.max(1)
    predicted = torch.where(most > own, other, block.label)
    return Votes(
        margin=block.margin.nansum(0) / block.visits,
        against=1 - own / block.visits,
        beaten=(most > own).float(),
        predicted=torch.where(block.visits.isnan(), NOT_SEEN, predicted),
        other=torch.where(most > 0, other, NOT_SEEN),
        hopeless=(own == 0) & ~(block.margin >= guess[block.label]).any(0) & block.seen.any(0),
    )
