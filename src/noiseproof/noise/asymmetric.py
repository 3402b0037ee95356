"""Asymmetric noise: labels of a class become those of one similar class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Integers
from .base import ClassNoise, as_rate
from .maps import as_map_text, check_map, parse_map


@dataclass(frozen=True)
class Asymmetric(ClassNoise):
    r"""Labels of the mapped classes become those of the classes they map to with probability r.

    Transition:
        :math:`T_{i,m(i)}=r,\ T_{ii}=1-r` for mapped classes, others are unchanged. ``map`` is ``"mnist"``,
        ``"cifar10"``, text like ``"9>1,2>0"``, or a dict in Python. The overall rate is r times the share of
        the mapped classes (r/2 on CIFAR-10).
    Mutated:
        Some public code applies the map step by step to labels that it has flipped before. With
        ``mutated=True`` the matrix is the product of the steps: at r = 0.4 cats end
        0.4 * 0.6 = 24% wrong and dogs 40%. ``exact`` counts then hold for that matrix.
    Example:
        >>> Asymmetric(0.4, map={0: 1, 1: 0}, mutated=True).transition(2)
        array([[0.76, 0.24],
               [0.4 , 0.6 ]])

    Reference:
        Patrini et al., Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach, CVPR
        2017. Mutated labels: public code of APL, ALFs and (CIFAR-10) ELR.
    """

    name = "asymmetric"
    rate: float
    map: str
    mutated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_rate(self.name, self.rate))
        object.__setattr__(self, "map", as_map_text(self.map))
        if not isinstance(self.mutated, bool):
            raise TypeError(f"{self.name}: mutated must be True or False, got {self.mutated!r}")

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        check_map(self.map, num_classes)
        rates = np.zeros(num_classes)
        destinations = np.eye(num_classes)
        for source, destination in parse_map(self.map):
            rates[source] = self.rate
            destinations[source] = np.eye(num_classes)[destination]
        return split_matrix(self._product_of_steps(num_classes)) if self.mutated else (rates, destinations)

    def _product_of_steps(self, num_classes: int) -> Floats:
        product = np.eye(num_classes)
        for source, destination in parse_map(self.map):
            step = np.eye(num_classes)
            step[source, source] -= self.rate
            step[source, destination] += self.rate
            product = product @ step
        return product


def split_matrix(transition: Floats) -> tuple[Floats, Floats]:
    """Flip rates and destinations of a matrix; the destination of a class that never flips is itself.

    >>> split_matrix(np.array([[0.5, 0.5], [0.0, 1.0]]))
    (array([0.5, 0. ]), array([[0., 1.], [0., 1.]]))
    """
    leaving = transition.copy()
    np.fill_diagonal(leaving, 0.0)
    rates = leaving.sum(1)
    stays = rates == 0
    rates[np.diag(transition) == 0] = 1.0
    leaving[stays] = np.eye(len(transition))[stays]
    return np.minimum(rates, 1.0), leaving / leaving.sum(1, keepdims=True)
