"""The base class of noise: which labels are changed with which probability, and what they become."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .arrays import Floats, Integers, Mask, rows_by_class
from .draws import DESTINATION, uniform
from .sampling import Exact, select


@dataclass(frozen=True, eq=False)
class Samples:
    """The inputs of a noise model."""

    labels: Integers
    index: Integers
    num_classes: int
    seed: int
    groups: Integers | None = None
    inputs: object = None


class Drawn(NamedTuple):
    """New labels, and the samples that were selected (an inclusive noise may draw their own label)."""

    labels: Integers
    selected: Mask


class Noise(ABC):
    """A model of label noise.

    A noise defines the probability that a sample is selected (:meth:`rates`) and the new labels of selected
    samples (:meth:`destinations`). Subclasses are frozen dataclasses whose fields are the parameters of the
    spec; ``str(noise)`` is the spec that creates an equal noise.
    """

    name: ClassVar[str] = ""
    replaces_inputs: ClassVar[bool] = False
    """True for open-set noise: selected samples keep the label, and their input is replaced."""
    inclusive: bool = False
    """True if a selected sample may keep its own label."""

    @abstractmethod
    def rates(self, samples: Samples) -> Floats:
        """Probability that a sample is selected, for every sample."""

    @abstractmethod
    def destinations(self, samples: Samples, rows: Integers) -> Integers:
        """New labels of the selected samples ``rows``."""

    def caution(self, num_classes: int) -> str | None:
        """A warning for the user, or None."""
        return None

    def draw(self, samples: Samples, exact: Exact) -> Drawn:
        mask = select(self.rates(samples), samples.labels, samples.index, samples.seed, exact)
        labels = samples.labels.copy()
        rows = np.flatnonzero(mask)
        labels[rows] = self.destinations(samples, rows)
        return Drawn(labels, mask)

    def __str__(self) -> str:
        arguments: list[str] = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value != field.default:
                shown = json.dumps(value) if isinstance(value, str) else repr(value)
                arguments.append(shown if not arguments else f"{field.name}={shown}")
        return f"{self.name}({', '.join(arguments)})"


class ClassNoise(Noise):
    r"""Noise that depends on the class only.

    With rates :math:`r_i` and destinations :math:`D_{ij}` (rows sum to 1) the transition matrix is
    :math:`T_{ij} = (1-r_i)\,\delta_{ij} + r_i D_{ij}`.
    """

    @abstractmethod
    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        """Rates (K,) and destinations (K, K)."""

    def transition(self, num_classes: int, groups: Integers | None = None, seed: int = 0) -> Floats:
        rates, destinations = self.by_class(num_classes, groups, seed)
        return np.diag(1 - rates) + rates[:, None] * destinations

    def rates(self, samples: Samples) -> Floats:
        return self.by_class(samples.num_classes, samples.groups, samples.seed)[0][samples.labels]

    def destinations(self, samples: Samples, rows: Integers) -> Integers:
        table = self.by_class(samples.num_classes, samples.groups, samples.seed)[1]
        chance = uniform(samples.seed, samples.index[rows], DESTINATION)
        labels = samples.labels[rows]
        found = np.empty_like(labels)
        for own in rows_by_class(labels):
            found[own] = class_at(table[labels[own[0]]], chance[own])
        return found


def class_at(shares: Floats, chance: Floats) -> Integers:
    """The class whose part of [0, 1) contains each number, never one whose share is 0.

    ``shares`` (K,) for all numbers, or (N, K) with a row for each; they need not sum to 1.

    >>> class_at(np.array([0.5, 0.0, 0.5]), np.array([0.0, 0.49, 0.5, 0.99]))
    array([0, 0, 2, 2])
    """
    cumulative = np.cumsum(shares, -1)
    cumulative /= cumulative[..., -1:]
    if shares.ndim == 1:
        return np.searchsorted(cumulative, chance, side="right").astype(np.int64)
    return np.asarray((cumulative <= chance[:, None]).sum(1, dtype=np.int64))


def as_rate(noise: str, rate: object) -> float:
    """``rate`` as a float in [0, 1].

    >>> as_rate("symmetric", 40)
    Traceback (most recent call last):
    ValueError: symmetric: rate=40 is out of range, it must satisfy 0 <= rate <= 1
    """
    if isinstance(rate, bool) or not isinstance(rate, (int, float, np.integer, np.floating)):
        raise TypeError(f"{noise}: rate must be a number, got {rate!r}")
    if not (math.isfinite(rate) and 0 <= rate <= 1):
        raise ValueError(f"{noise}: rate={rate} is out of range, it must satisfy 0 <= rate <= 1")
    return float(rate)
