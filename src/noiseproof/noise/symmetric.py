"""Symmetric noise: a flipped label is drawn uniformly from the classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Integers
from .base import ClassNoise, as_rate


@dataclass(frozen=True)
class Symmetric(ClassNoise):
    r"""With probability r a label is replaced by one drawn uniformly from the other classes.

    Transition:
        :math:`T_{ii}=1-r,\ T_{ij}=r/(K-1)`. With ``inclusive=True`` uniform over all K classes, including the
        true one: :math:`T_{ii}=1-r+r/K,\ T_{ij}=r/K`, so that only r(K-1)/K of the labels are wrong.
    Limits:
        :math:`0\le r\le 1`; if a share of 1-1/K or more of the labels is wrong, the true class is
        not the most frequent one and no loss can be robust: a UserWarning is issued.
    Example:
        >>> Symmetric(0.3).transition(3)
        array([[0.7 , 0.15, 0.15],
               [0.15, 0.7 , 0.15],
               [0.15, 0.15, 0.7 ]])

    Reference:
        van Rooyen, Menon & Williamson, Learning with Symmetric Label Noise, NeurIPS 2015. Exclusive in
        Patrini et al., SL, GR, IMAE; inclusive in the public code of DivideMix, ELR, NAL, SELC, SOP.
    """

    name = "symmetric"
    rate: float
    inclusive: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_rate(self.name, self.rate))
        if not isinstance(self.inclusive, bool):
            raise TypeError(f"{self.name}: inclusive must be True or False, got {self.inclusive!r}")

    def caution(self, num_classes: int) -> str | None:
        wrong = self.rate * (1 - 1 / num_classes) if self.inclusive else self.rate
        limit = 1 - 1 / num_classes
        if wrong < limit - 1e-12:
            return None
        return (
            f"{self}: with {num_classes} classes the true class is not the most frequent one when {limit:.3g}"
            " of the labels or more are wrong: no loss can be robust to this"
        )

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        destinations = np.ones((num_classes, num_classes))
        if not self.inclusive:
            np.fill_diagonal(destinations, 0.0)
        return np.full(num_classes, self.rate), destinations / destinations.sum(1, keepdims=True)
