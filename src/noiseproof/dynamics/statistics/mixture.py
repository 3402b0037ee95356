"""A mixture of two normal distributions that separates margins of right and of wrong labels."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..record import Record
from .margins import mean_margin

BINS = 2048
STEPS = 500
NARROWEST = 1e-3
"""Lower bound of the standard deviation of a group, as a share of that of all values."""
RAREST = 1e-6


class Mixture(NamedTuple):
    """Weight, mean and standard deviation of the low and the high group, (2,) float64 each."""

    weight: Tensor
    mean: Tensor
    std: Tensor

    def high_probability(self, values: Tensor) -> Tensor:
        """P(high group | value) with values clipped to the means, which makes it non-decreasing."""
        inside = values.double().clamp(*self.mean.tolist()).unsqueeze(-1)
        return torch.softmax(_log_density(inside, self), -1)[..., 1]


def fit_mixture(values: Tensor) -> Mixture | None:
    """Fit a mixture of two normal distributions by EM; None if all values are equal.

    The values are binned into 2048 bins first, so that the cost of a step does not depend on their number.
    The fit is deterministic: it is initialised by the split with the least variance within groups.

    Example:
        >>> two = fit_mixture(torch.cat([torch.linspace(-6, -4, 50), torch.linspace(3, 5, 150)]))
        >>> two.weight, two.mean.round(decimals=2)
        (tensor([0.2500, 0.7500], dtype=torch.float64), tensor([-5.,  4.], dtype=torch.float64))
    """
    values = values[values.isfinite()].double()
    if not len(values) or values.min() == values.max():
        return None
    low, high = values.min(), values.max()
    cell = ((values - low) / (high - low) * (BINS - 1)).round().long()
    count = torch.bincount(cell, minlength=BINS).double()
    at = low + torch.arange(BINS, dtype=torch.float64) * (high - low) / (BINS - 1)
    floor = NARROWEST * values.std(correction=0) + (high - low) / BINS
    found = _moments(at, count, _start(at, count), floor)
    for _ in range(STEPS):
        share = torch.softmax(_log_density(at.unsqueeze(1), found), 1)
        before, found = found, _moments(at, count, share, floor)
        if (found.mean - before.mean).abs().max() < 1e-6 * (high - low):
            break
    return Mixture(*(part[found.mean.argsort()] for part in found))


def clean_probability(record: Record) -> Tensor:
    """Probability of the high group under a two-component mixture of the mean margins, (N,) in [0, 1].

    If all margins are equal, the probability is 1 for all samples.

    Reference:
        Arazo et al., Unsupervised Label Noise Modeling and Loss Correction, ICML 2019; Li, Socher & Hoi,
        DivideMix, ICLR 2020, who fit mixtures to losses instead of margins
    """
    values = mean_margin(record)
    mixture = fit_mixture(values)
    if mixture is None:
        return torch.where(values.isnan(), values, 1.0)
    return torch.where(values.isnan(), torch.nan, mixture.high_probability(values)).float()


def _start(at: Tensor, count: Tensor) -> Tensor:
    """(bins, 2): one-hot group of every bin under the split with the least variance within groups (Otsu)."""
    below, sum_below = count.cumsum(0)[:-1], (count * at).cumsum(0)[:-1]
    above, sum_above = count.sum() - below, (count * at).sum() - sum_below
    between = below * above * (sum_below / below - sum_above / above).square()
    cut = int(between.nan_to_num(0.0).argmax())
    low = torch.arange(len(at)) <= cut
    return torch.stack([low, ~low], 1).double()


def _moments(at: Tensor, count: Tensor, share: Tensor, floor: Tensor) -> Mixture:
    mass = count.unsqueeze(1) * share
    size = mass.sum(0).clamp_min(RAREST)
    mean = (mass * at.unsqueeze(1)).sum(0) / size
    variance = (mass * (at.unsqueeze(1) - mean).square()).sum(0) / size
    return Mixture(size / size.sum(), mean, variance.sqrt().clamp_min(floor))


def _log_density(values: Tensor, mixture: Mixture) -> Tensor:
    """Log density under each group, up to a constant; values (..., 1), result (..., 2)."""
    return mixture.weight.log() - mixture.std.log() - ((values - mixture.mean) / mixture.std).square() / 2
