"""Noise inside superclasses, with three definitions from public code that often have the same name."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Integers
from .base import ClassNoise, as_rate
from .draws import PAIRS, random_bits
from .groups import GROUPINGS, members


@dataclass(frozen=True)
class Grouped(ClassNoise):
    """Noise that keeps labels inside their group.

    ``grouping="superclass"``: the groups given to ``corrupt``. ``"index_block"``: blocks of ``block``
    consecutive classes, as in public CIFAR-100 code, where classes are in alphabetical order and only 6
    of the 100 classes share a superclass with the next one. ``"all"``: all classes are one group.
    """

    rate: float
    grouping: str = "superclass"
    block: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_rate(self.name, self.rate))
        if self.grouping not in GROUPINGS:
            words = ", ".join(repr(word) for word in GROUPINGS)
            raise ValueError(f"{self.name}: grouping={self.grouping!r} is unknown, choose one of {words}")
        if isinstance(self.block, bool) or not isinstance(self.block, int) or self.block < 2:
            raise ValueError(f"{self.name}: block={self.block!r} must be a whole number of at least 2")

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        rates = np.zeros(num_classes)
        destinations = np.eye(num_classes)
        for classes in members(self.grouping, self.block, groups, num_classes, self.name):
            sources, inside = self.in_group(classes, seed)
            rates[sources] = self.rate
            destinations[np.ix_(sources, sources)] = inside
        return rates, destinations

    @abstractmethod
    def in_group(self, classes: Integers, seed: int) -> tuple[Integers, Floats]:
        """Classes of the group whose labels are flipped, and their destinations within the group."""


@dataclass(frozen=True)
class Sibling(Grouped):
    r"""Uniform over the other classes of the group.

    Transition:
        :math:`T_{ij}=r/(|g|-1)` for j in the group g of i
    Example:
        >>> Sibling(0.2, grouping="index_block", block=3).transition(3)[0]
        array([0.8, 0.1, 0.1])

    Reference:
        Wang et al., Derivative Manipulation / Gradient Rescaling (GR), appendix D
    """

    name = "sibling"

    def in_group(self, classes: Integers, seed: int) -> tuple[Integers, Floats]:
        size = len(classes)
        return classes, (1 - np.eye(size)) / (size - 1)


@dataclass(frozen=True)
class Pair(Grouped):
    r"""Two classes of every group, which the seed selects, are exchanged.

    Transition:
        :math:`T_{ab}=T_{ba}=r` for the selected pair (a, b), others are unchanged; groups of 5 give
        an overall rate of 0.4 r
    Example:
        >>> Pair(0.4, grouping="index_block").transition(5, seed=0).diagonal()
        array([1. , 1. , 0.6, 0.6, 1. ])

    Reference:
        Wang et al., Symmetric Cross Entropy for Robust Learning with Noisy Labels, ICCV 2019; IMAE
    """

    name = "pair"

    def in_group(self, classes: Integers, seed: int) -> tuple[Integers, Floats]:
        order = np.argsort(random_bits(seed, classes, PAIRS), kind="stable")
        return np.sort(classes[order[:2]]), np.array([[0.0, 1.0], [1.0, 0.0]])


@dataclass(frozen=True)
class Cycle(Grouped):
    r"""Labels become the next class of their group; those of the last class become the first.

    Transition:
        :math:`T_{i,next(i)}=r`; with ``grouping="all"`` the "pair flip" of Co-teaching
    Example:
        >>> Cycle(0.4, grouping="all").transition(3)[2]
        array([0.4, 0. , 0.6])

    Reference:
        Patrini et al., CVPR 2017 (blocks of indices); NAL and Curriculum (superclasses)
    """

    name = "cycle"

    def in_group(self, classes: Integers, seed: int) -> tuple[Integers, Floats]:
        return classes, np.roll(np.eye(len(classes)), 1, axis=1)
