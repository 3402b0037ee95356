"""The order of samples: a function of seed, epoch and sample indices only."""

from __future__ import annotations

import torch
from torch import Tensor

from ..counter import draw, shifted_right

ORDER, SPLIT, NETWORK = 1 << 20, (1 << 20) + 1, (1 << 20) + 2
"""Streams of random numbers, different from those of augmentation."""


def epoch_order(index: Tensor, *, seed: int, epoch: int) -> Tensor:
    """A random permutation of positions for an epoch (counted from 1), computed without a generator.

    Shape:
        index (N,) permanent indices; result (N,) int64 on the same device
    Example:
        >>> epoch_order(torch.arange(5), seed=0, epoch=1)
        tensor([...])
    """
    return draw(seed=seed, epoch=epoch, index=index, stream=ORDER).argsort(stable=True)


def batch_bounds(samples: int, batch_size: int) -> list[tuple[int, int]]:
    """Where the batches of an epoch begin and end; all samples, none twice.

    A last batch of one sample joins the one before: batch norm cannot train on a single sample.

    Example:
        >>> batch_bounds(9, 4), batch_bounds(10, 4)
        ([(0, 4), (4, 9)], [(0, 4), (4, 8), (8, 10)])
    """
    starts = list(range(0, samples, batch_size))
    if len(starts) > 1 and batch_size > 1 and samples - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], samples], strict=True))


def split_positions(index: Tensor, share: float, *, seed: int) -> tuple[Tensor, Tensor]:
    """Positions for training and for validation, both in ascending order.

    Example:
        >>> train, validation = split_positions(torch.arange(10), 0.3, seed=0)
        >>> len(train), len(validation)
        (7, 3)
    """
    order = draw(seed=seed, epoch=0, index=index, stream=SPLIT).argsort(stable=True)
    count = round(share * len(index))
    if not 0 < count < len(index):
        raise ValueError(f"validation={share} of {len(index)} samples leaves one side empty")
    return order[count:].sort().values, order[:count].sort().values


def network_seed(seed: int, number: int) -> int:
    """The seed of the initial weights of each network; the first has the seed of the run.

    Example:
        >>> network_seed(7, 0), network_seed(7, 1) == network_seed(7, 0)
        (7, False)
    """
    if number == 0:
        return seed
    bits = draw(seed=seed, epoch=0, index=torch.tensor([number]), stream=NETWORK)
    return int(shifted_right(bits, 2))
