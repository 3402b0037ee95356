"""Instance-dependent noise: the flip probability and the new label depend on the input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from .arrays import Floats, Integers, rows_by_class
from .base import Noise, Samples, as_rate, class_at
from .draws import DESTINATION, INSTANCE_RATE, PROJECTION, normal, uniform
from .features import Features, as_features, in_chunks


@dataclass(frozen=True)
class Instance(Noise):
    r"""Feature-projection noise.

    Labels:
        Each sample has a flip rate :math:`q_i` from a normal distribution (mean r, deviation ``std``)
        truncated to [0, 1]; when it flips, class j of the others is drawn with probability
        softmax :math:`(x_i W_{y_i})_j`, where the :math:`W_c` (D, K) hold standard normal numbers.
    Limits:
        :math:`0\le r\le 1`, std >= 0. At r = 0 and r = 1 every rate is r exactly; near them the
        truncation pulls the mean rate inwards (r = 0.1, std = 0.1: 0.129).
    Inputs:
        (N, ...), flattened to (N, D) in float64; of lazily read inputs only the rows that flip are read.
        Their scale matters: public code uses normalised images,
        where the softmax is nearly a choice of the largest.
    Example:
        >>> from noiseproof import noise
        >>> images = np.linspace(-1, 1, 12).reshape(6, 2)
        >>> noise.corrupt([0, 1, 2] * 2, "instance(0.5)", num_classes=3, seed=0, inputs=images).labels
        tensor([1, 2, 0, 1, 1, 1])

    Reference:
        Xia et al., Part-dependent Label Noise: Towards Instance-dependent Label Noise, NeurIPS 2020,
        algorithm 2
    """

    name = "instance"
    rate: float
    std: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_rate(self.name, self.rate))
        if isinstance(self.std, bool) or not isinstance(self.std, (int, float)):
            raise TypeError(f"{self.name}: std must be a number, got {self.std!r}")
        if not (math.isfinite(self.std) and self.std >= 0):
            raise ValueError(f"{self.name}: std={self.std!r} is out of range, it must satisfy std >= 0")
        object.__setattr__(self, "std", float(self.std))

    def rates(self, samples: Samples) -> Floats:
        if self.std == 0 or self.rate in (0.0, 1.0):
            return np.full(len(samples.labels), self.rate)
        return truncated_normal(self.rate, self.std, uniform(samples.seed, samples.index, INSTANCE_RATE))

    def destinations(self, samples: Samples, rows: Integers) -> Integers:
        features = as_features(samples)
        chance = uniform(samples.seed, samples.index[rows], DESTINATION)
        labels = samples.labels[rows]
        found = np.empty_like(labels)
        for own in rows_by_class(labels):
            label = int(labels[own[0]])
            projection = self.projection(samples, label, features)
            for part in in_chunks(own, features):
                scores = features[rows[part]].astype(np.float64) @ projection
                scores[:, label] = -np.inf
                shares = np.exp(scores - scores.max(1, keepdims=True))
                found[part] = class_at(shares, chance[part])
        return found

    def projection(self, samples: Samples, label: int, features: Features) -> Floats:
        """W of one class: (D, K) standard normal numbers, a function of the seed and the class."""
        size = features.shape[1] * samples.num_classes
        counter = label * size + np.arange(size)
        return normal(samples.seed, counter, PROJECTION).reshape(features.shape[1], samples.num_classes)


def truncated_normal(mean: float, std: float, chance: Floats) -> Floats:
    """A normal distribution cut to [0, 1], by inversion of its distribution function.

    >>> truncated_normal(0.4, 0.1, np.array([0.5])).round(4)
    array([0.4])
    """
    low, high = torch.special.ndtr(torch.tensor([-mean / std, (1 - mean) / std], dtype=torch.float64))
    quantile = torch.special.ndtri(low + torch.from_numpy(chance) * (high - low))
    return np.asarray((mean + std * quantile).clamp(0, 1).numpy())
