"""Human noise: labels that people gave, read from a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Floats, Integers, as_numpy
from .base import Case, Drawn, Noise
from .read import read_labels
from .sampling import Exact


@dataclass(frozen=True)
class Human(Noise):
    """The labels of a file take the place of the clean ones; seed and rate play no part.

    Labels:
        the file (npy, npz, csv, json) holds one label for every permanent index, so that a subset given
        with ``index=`` takes its own
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

    def draw(self, case: Case, exact: Exact) -> Drawn:
        if exact is not False:
            raise ValueError(f"human labels are what they are: exact={exact!r} does not apply")
        labels = self.destinations(case, np.arange(len(case.labels)))
        return Drawn(labels, labels != case.labels)

    def rates(self, case: Case) -> Floats:
        return np.ones(len(case.labels))

    def destinations(self, case: Case, rows: Integers) -> Integers:
        given = as_numpy(read_labels(self.path, self.key, num_classes=case.num_classes)).astype(np.int64)
        wanted = case.index[rows]
        if wanted.size and wanted.max() >= len(given):
            raise ValueError(
                f"{self.path} holds {len(given)} labels, there is none for the index {wanted.max()}"
            )
        whole = np.array_equal(case.index, np.arange(len(case.index)))
        if whole and len(given) != len(case.index):
            raise ValueError(
                f"{self.path} holds {len(given)} labels, the data {len(case.index)}: pass the permanent"
                " indices of a subset with index="
            )
        return given[wanted]
