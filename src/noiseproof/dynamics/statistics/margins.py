"""Mean, final value and area of the margins of each sample."""

from __future__ import annotations

import torch
from torch import Tensor

from ..record import Record
from .blocks import Block, last_seen, over_blocks


def mean_margin(record: Record) -> Tensor:
    r"""Mean of :math:`\Delta` over the visits of each sample.

    Shape:
        result (N,) float32; NaN for a sample that was never visited
    Example:
        >>> from noiseproof.dynamics import Record
        >>> margin = torch.tensor([[-2.0, 1.0], [0.0, torch.nan], [5.0, 3.0]]).half()
        >>> zero = torch.zeros(2, dtype=torch.int64)
        >>> record = Record(torch.arange(2), zero, None, ("a", "b"), margin, zero.int().expand(3, 2))
        >>> mean_margin(record), final_margin(record), area_under_margin(record)
        (tensor([1., 2.]), tensor([5., 3.]), tensor([0.7500, 2.0000]))

    Reference:
        Pleiss et al., Identifying Mislabeled Data using the Area Under the Margin Ranking, NeurIPS 2020,
        where the margin is taken to the largest other logit instead of their logsumexp
    """
    return over_blocks(record, lambda block: block.margin.nansum(0) / block.visits)


def final_margin(record: Record) -> Tensor:
    """The margin at the last visit of each sample, (N,) float32."""

    def last(block: Block) -> Tensor:
        return block.margin.gather(0, last_seen(block.seen)[-1:]).squeeze(0)

    return over_blocks(record, last)


def area_under_margin(record: Record) -> Tensor:
    r"""The area under the curve of margins over epochs, divided by its length, (N,) float32.

    Area:
        :math:`\frac{1}{t_n-t_1}\sum_i \tfrac12(\Delta_{t_i}+\Delta_{t_{i+1}})(t_{i+1}-t_i)` over the visits
        :math:`t_1<\dots<t_n`, which interpolates epochs without a visit linearly, whereas the mean ignores
        them. For a single visit, its margin.

    Reference:
        Pleiss et al., NeurIPS 2020
    """

    def area(block: Block) -> Tensor:
        width = _widths(block.seen)
        under = (block.margin.nan_to_num() * width).sum(0) / width.sum(0)
        return torch.where(width.sum(0) > 0, under, block.margin.nansum(0) / block.visits)

    return over_blocks(record, area)


def _widths(seen: Tensor) -> Tensor:
    """(E, B): half the distance from the previous to the next visit; 0 for epochs without a visit."""
    epochs = len(seen)
    own = torch.arange(epochs).unsqueeze(1).expand_as(seen)
    before = torch.where(seen, own, -1).cummax(0).values.roll(1, 0)
    before[0] = -1
    after = torch.where(seen, own, epochs).flip(0).cummin(0).values.flip(0).roll(-1, 0)
    after[-1] = epochs
    reach = torch.where(after < epochs, after, own) - torch.where(before >= 0, before, own)
    return torch.where(seen, reach / 2, 0.0)
