"""First epoch learned, forgetting events, and share of correct predictions of each sample."""

from __future__ import annotations

import torch
from torch import Tensor

from ..record import Record
from .blocks import Block, last_seen, over_blocks


def forgetting(record: Record) -> Tensor:
    """Number of forgetting events: the given label is predicted at a visit but not at the next one.

    The number is 0 for a sample that was never learned, see ``first_learned``.

    Shape:
        result (N,) float32; NaN for a sample that was never visited
    Example:
        >>> from noiseproof.dynamics import Record
        >>> prediction = torch.tensor([[0, 1], [1, -1], [0, 1], [1, 1]]).int()
        >>> margin = torch.where(prediction < 0, torch.nan, 0.0).half()
        >>> record = Record(torch.arange(2), torch.tensor([0, 0]), None, ("a", "b"), margin, prediction)
        >>> forgetting(record), first_learned(record), correctness(record)
        (tensor([2., 0.]), tensor([1., inf]), tensor([0.5000, 0.0000]))

    Reference:
        Toneva et al., An Empirical Study of Example Forgetting during Deep Neural Network Learning, ICLR 2019
    """

    def events(block: Block) -> Tensor:
        known = block.right.gather(0, last_seen(block.seen))
        lost = known[:-1] & block.seen[1:] & ~block.right[1:]
        return lost.sum(0) + 0 * block.visits

    return over_blocks(record, events)


def first_learned(record: Record) -> Tensor:
    """First epoch, counted from 1, that predicted the given label; inf if none did, NaN if never visited."""

    def first(block: Block) -> Tensor:
        right = block.right
        epoch = right.int().argmax(0) + 1
        return torch.where(right.any(0), epoch, torch.inf) + 0 * block.visits

    return over_blocks(record, first)


def correctness(record: Record) -> Tensor:
    """Share of visits at which the given label was predicted, (N,) in [0, 1].

    Reference:
        Swayamdipta et al., Dataset Cartography, EMNLP 2020
    """
    return over_blocks(record, lambda block: block.right.sum(0) / block.visits)
