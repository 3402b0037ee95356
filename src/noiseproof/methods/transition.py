"""Base class of methods with a transition matrix."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from ..noise import Noise, get, transition
from ..noise.base import ClassNoise
from ..noise.formats import READERS
from ..noise.matrix import IN_MEMORY, Matrix
from .base import Method, TrainingInfo

HOW = (
    "give transition=..., a npy, npz, csv or json file, a noise such as 'symmetric(0.4)', or in Python a"
    " (K, K) array with [i, j] = P(given j | clean i)"
)


class TransitionMethod(Method):
    """A method with a matrix: [i, j] = P(given j | clean i).

    Args:
        transition: a (K, K) array or tensor, the path of a npy, npz, csv or json file, or the spec of
            class-conditional noise, such as "symmetric(0.4)", or "clothing1m", which counts the matrix on the
            label lists of Clothing1M. The matrix is not estimated here.
    """

    mixup = "labels"

    def __init__(self, transition: object) -> None:
        super().__init__()
        self._noise = None if transition is None else _noise(self.name, transition)
        self.transition = _shown(transition, self._noise)

    def matrix(self, info: TrainingInfo) -> Tensor:
        """(K, K) float64, checked against the labels."""
        if self._noise is None:
            raise ValueError(f"{self.name} needs a matrix: {HOW}")
        found = transition(self._noise, num_classes=info.num_classes, seed=info.seed)
        counts = torch.bincount(info.label, minlength=info.num_classes).cpu()
        impossible = (counts > 0) & (found.sum(0) == 0)
        if bool(impossible.any()):
            label = int(impossible.nonzero()[0])
            raise ValueError(
                f"{self.name}: {int(counts[label])} samples have the label {label}, but column {label} of the"
                " matrix is zero, so this label is impossible"
            )
        return found


def _noise(method: str, source: object) -> ClassNoise:
    found: Noise = Matrix(str(source)) if _is_file(source) else get(source)  # type: ignore[arg-type]
    if not isinstance(found, ClassNoise):
        raise ValueError(f"{method}: {found} depends on more than the class and has no matrix: {HOW}")
    return found


def _is_file(source: object) -> bool:
    """Whether a source is a file, or the digest of an array, for which :class:`Matrix` raises an error."""
    if isinstance(source, str):
        return Path(source).suffix.lower() in READERS or source.startswith(IN_MEMORY)
    return isinstance(source, Path)


def _shown(source: object, noise: ClassNoise | None) -> str | None:
    """The value in the spec: the path or noise as given, or the digest of an array."""
    if isinstance(source, (str, Path)):
        return str(source)
    return noise.source if isinstance(noise, Matrix) else noise and str(noise)  # type: ignore[return-value]
