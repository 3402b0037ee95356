"""Human noise: labels of human annotators, read from a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Integers, as_numpy
from .base import Drawn, Noise, Samples
from .read import read_labels
from .sampling import Exact


@dataclass(frozen=True)
class Human(Noise):
    """Replace the clean labels by those of a file; there is no rate, and the seed is not used.

    Labels:
        the file (npy, npz, csv, json) holds one label for every permanent index, so that a subset given
        with ``index=`` gets its labels
    Example:
        >>> print(Human("cifar10n.npz", key="worse_label"))
        human("cifar10n.npz", key="worse_label")

    Reference:
        Wei et al., Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations, ICLR
        2022 (CIFAR-10N, CIFAR-100N)
    """

    name = "human"
    path: str
    key: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))

    def draw(self, samples: Samples, exact: Exact) -> Drawn:
        if exact is not False:
            raise ValueError(f"human labels are not drawn: exact={exact!r} does not apply")
        labels = self.destinations(samples, np.arange(len(samples.labels)))
        return Drawn(labels, labels != samples.labels)

    def rates(self, samples: Samples) -> Floats:
        return np.ones(len(samples.labels))

    def destinations(self, samples: Samples, rows: Integers) -> Integers:
        given = as_numpy(read_labels(self.path, self.key, num_classes=samples.num_classes)).astype(np.int64)
        wanted = samples.index[rows]
        if wanted.size and wanted.max() >= len(given):
            raise ValueError(
                f"{self.path} holds {len(given)} labels, which do not include the index {wanted.max()}"
            )
        whole = np.array_equal(samples.index, np.arange(len(samples.index)))
        if whole and len(given) != len(samples.index):
            raise ValueError(
                f"{self.path} holds {len(given)} labels, the data {len(samples.index)}: pass the permanent"
                " indices of a subset with index="
            )
        return given[wanted]
