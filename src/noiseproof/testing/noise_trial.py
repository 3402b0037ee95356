"""One noise on one problem, as the checks of ``check_noise`` run it."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..noise import ClassNoise, Noise, NoisyLabels, corrupt
from ..noise.arrays import Floats, Integers, Mask
from ..noise.corrupt import as_samples


@dataclass(frozen=True, eq=False)
class Trial:
    """A noise and the problem it is tried on."""

    noise: Noise
    clean: Integers
    classes: int
    options: dict[str, Any]

    def run(self, noise: Noise | None = None, *, labels: object = None, **options: Any) -> NoisyLabels:
        given: Any = self.clean if labels is None else labels
        settings = {"num_classes": self.classes, **self.options, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return corrupt(given, noise or self.noise, **settings)

    def matrix(self, noise: Noise) -> Floats | None:
        """The matrix of the labels, where the class alone decides."""
        if not isinstance(noise, ClassNoise):
            return None
        samples = as_samples(self.clean, self.classes, **self.options)
        return noise.transition(samples.num_classes, samples.groups, samples.seed)

    def leaving(self, noise: Noise) -> Floats:
        """Probability of every sample to be hit, by its class; 1 where the class does not decide."""
        matrix = None if noise.replaces_inputs else self.matrix(noise)
        return (np.ones(self.classes) if matrix is None else 1 - np.diag(matrix))[self.clean]

    def with_rate(self, rate: float) -> Noise | None:
        """The same noise at another rate; None where it has none or flips back what it has flipped."""
        if not hasattr(self.noise, "rate") or getattr(self.noise, "mutated", False):
            return None
        return dataclasses.replace(self.noise, rate=rate)  # type: ignore[type-var]


def hits(made: NoisyLabels) -> Mask:
    """Samples that went wrong: the label, or the input."""
    return np.asarray((made.flipped if made.open_set is None else made.open_set).numpy())
