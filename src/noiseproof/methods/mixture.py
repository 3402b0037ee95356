"""A mixture of two normal distributions for losses, as in DivideMix."""

from __future__ import annotations

import math

import torch
from torch import Tensor

ROUNDS, TOLERANCE, MIN_VARIANCE = 10, 1e-2, 5e-4
"""Largest number of steps, tolerance of the log likelihood, and constant added to each variance."""


def low_component(values: Tensor) -> Tensor:
    r"""The probability that each value belongs to the component with the lower mean.

    Values are scaled to [0, 1]. EM is initialised with the two clusters of k-means and runs for at most ten
    steps, as in DivideMix, which uses scikit-learn. Values are sorted first, so that the result is bitwise
    independent of their order.

    Shape:
        values (N,); result (N,) float64, 1 where all values are the same
    Example:
        >>> low_component(torch.tensor([0.1, 0.2, 5.0, 0.15, 5.1])).round(decimals=3)
        tensor([1., 1., 0., 1., 0.], dtype=torch.float64)
    """
    values = values.double()
    low, high = values.min(), values.max()
    if not bool(high > low):
        return torch.ones_like(values)
    ordered, order = ((values - low) / (high - low)).sort()
    above = _upper_cluster(ordered)
    share = torch.stack([~above, above], 1).double()
    before = -math.inf
    for _ in range(ROUNDS):
        weight, mean, variance = _fitted(ordered, share)
        share, gain = _shares(ordered, weight, mean, variance)
        if abs(gain - before) < TOLERANCE:
            break
        before = gain
    weight, mean, variance = _fitted(ordered, share)
    share, _ = _shares(ordered, weight, mean, variance)
    found = torch.empty_like(values)
    found[order] = share[:, int(mean.argmin())]
    return found


def _upper_cluster(ordered: Tensor) -> Tensor:
    """(N,) bool, the upper one of the two clusters of k-means, initialised at both ends."""
    above = ordered > 0.5
    for _ in range(100):
        middle = (ordered[above].mean() + ordered[~above].mean()) / 2
        moved = ordered > middle
        if torch.equal(moved, above):
            break
        above = moved
    return above


def _fitted(values: Tensor, share: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weight, mean and variance of both components."""
    count = share.sum(0) + 10 * torch.finfo(share.dtype).eps
    mean = (share * values[:, None]).sum(0) / count
    variance = (share * (values[:, None] - mean).square()).sum(0) / count + MIN_VARIANCE
    return count / count.sum(), mean, variance


def _shares(values: Tensor, weight: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, float]:
    """The probability of each component, and the mean log likelihood."""
    distance = (values[:, None] - mean).square() / variance
    log = weight.log() - 0.5 * (math.log(2 * math.pi) + variance.log() + distance)
    total = log.logsumexp(1, keepdim=True)
    return (log - total).exp(), float(total.mean())
