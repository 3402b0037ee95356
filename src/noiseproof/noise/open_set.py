"""Open-set noise: inputs that belong to none of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .arrays import Floats, Integers, as_integers
from .base import ClassNoise, as_rate
from .draws import REPLACEMENT, uniform
from .manifest import NoisyLabels

Inputs = TypeVar("Inputs", "NDArray[np.generic]", Tensor)


@dataclass(frozen=True)
class OpenSet(ClassNoise):
    """The inputs of a share r of the samples are to be replaced; labels are unchanged.

    Labels:
        unchanged; ``NoisyLabels.open_set`` marks the samples, and :func:`replace_inputs` replaces their
        inputs
    Example:
        >>> from noiseproof import noise
        >>> noisy = noise.corrupt([0, 1] * 5, "open_set(0.3)", num_classes=2, seed=1, exact=True)
        >>> int(noisy.open_set.sum()), int(noisy.flipped.sum())
        (3, 0)

    Reference:
        Wang et al., Iterative Learning with Open-set Noisy Labels, CVPR 2018
    """

    name = "open_set"
    replaces_inputs = True
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", as_rate(self.name, self.rate))

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        return np.full(num_classes, self.rate), np.eye(num_classes)

    def transition(self, num_classes: int, groups: Integers | None = None, seed: int = 0) -> Floats:
        return np.eye(num_classes)


def replace_inputs(inputs: Inputs, noisy: NoisyLabels, foreign: Inputs, *, index: object = None) -> Inputs:
    """A copy of ``inputs`` in which the samples of ``noisy.open_set`` are replaced by samples of ``foreign``.

    The sample is a function of the seed of the noise and the permanent index (pass the ``index`` given to
    ``corrupt``). ``foreign`` has the shape and type of the inputs, of any length.

    Example:
        >>> from noiseproof import noise
        >>> noisy = noise.corrupt([0, 1], "open_set(1.0)", num_classes=2, seed=0)
        >>> replace_inputs(np.zeros((2, 3)), noisy, np.ones((5, 3)))
        array([[1., 1., 1.],
               [1., 1., 1.]])
    """
    mask = noisy.open_set
    if mask is None:
        raise ValueError(f"{noisy.manifest.spec} is not an open-set noise: it replaces no inputs")
    if len(inputs) != len(mask):
        raise ValueError(f"{len(inputs)} inputs do not fit {len(mask)} labels")
    if inputs.shape[1:] != foreign.shape[1:] or inputs.dtype != foreign.dtype or not len(foreign):
        raise ValueError(
            f"foreign of shape {tuple(foreign.shape)} and type {foreign.dtype} does not fit inputs"
            f" of shape {tuple(inputs.shape)} and type {inputs.dtype}"
        )
    permanent = np.arange(len(inputs)) if index is None else as_integers(index, "index")
    rows = np.flatnonzero(mask.numpy())
    chosen = (uniform(noisy.manifest.seed, permanent[rows], REPLACEMENT) * len(foreign)).astype(np.int64)
    if isinstance(inputs, Tensor):
        copied = inputs.clone()
        copied[torch.from_numpy(rows)] = foreign[torch.from_numpy(chosen)]
        return copied
    array = inputs.copy()
    array[rows] = foreign[chosen]
    return np.asarray(array)
