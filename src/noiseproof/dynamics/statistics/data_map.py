"""The two axes of a data map: mean and spread of the probability of the given label."""

from __future__ import annotations

import torch
from torch import Tensor

from ..record import Record
from .blocks import Block, over_blocks


def confidence(record: Record) -> Tensor:
    r"""Mean over visits of :math:`p_y = \mathrm{sigmoid}(\Delta)`, (N,) in [0, 1].

    Example:
        >>> from noiseproof.dynamics import Record
        >>> margin = torch.tensor([[0.0, -9.0], [torch.nan, 9.0]]).half()
        >>> zero = torch.zeros(2, dtype=torch.int64)
        >>> record = Record(torch.arange(2), zero, None, ("a", "b"), margin, zero.int().expand(2, 2))
        >>> confidence(record), variability(record)
        (tensor([0.5000, 0.5000]), tensor([0.0000, 0.4999]))

    Reference:
        Swayamdipta et al., Dataset Cartography: Mapping and Diagnosing Datasets with Training Dynamics,
        EMNLP 2020
    """
    return over_blocks(record, lambda block: block.margin.sigmoid().nansum(0) / block.visits)


def variability(record: Record) -> Tensor:
    """Standard deviation over visits of the probability of the given label, (N,) in [0, 0.5]."""

    def spread(block: Block) -> Tensor:
        probability = block.margin.sigmoid()
        away = probability - probability.nansum(0) / block.visits
        return torch.sqrt(away.square().nansum(0) / block.visits)

    return over_blocks(record, spread)
