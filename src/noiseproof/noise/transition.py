"""Transition matrices: exact, from a spec, or measured on two label arrays."""

from __future__ import annotations

import warnings

import numpy as np
from torch import Tensor

from .arrays import as_class_count, as_labels, as_tensor
from .base import ClassNoise
from .draws import as_seed
from .groups import GroupsLike, as_groups
from .registry import NoiseLike, get


def transition(
    spec: NoiseLike, *, num_classes: int, groups: GroupsLike | None = None, seed: int = 0
) -> Tensor:
    """The matrix of a class-conditional noise: ``[i, j]`` = P(given j | clean i), (K, K) float64.

    ``seed`` is used by ``pair`` to select its classes.

    Example:
        >>> transition("cycle(0.4, grouping='all')", num_classes=3)
        tensor([[0.6000, 0.4000, 0.0000],
                [0.0000, 0.6000, 0.4000],
                [0.4000, 0.0000, 0.6000]], dtype=torch.float64)
    """
    noise = get(spec)
    if not isinstance(noise, ClassNoise):
        raise TypeError(
            f"{noise} depends not only on the class and has no matrix: corrupt the labels and use"
            " realised_transition"
        )
    classes = as_class_count(num_classes)
    if caution := noise.caution(classes):
        warnings.warn(caution, stacklevel=2)
    return as_tensor(noise.transition(classes, as_groups(groups, classes), as_seed(seed)))


def realised_transition(clean: object, noisy: object, *, num_classes: int) -> Tensor:
    """Shares of the given labels among the samples of each clean class, (K, K) float64.

    A class without samples gets the row of the identity.

    Example:
        >>> realised_transition([0, 0, 1, 1], [0, 1, 1, 1], num_classes=3)
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 1.0000, 0.0000],
                [0.0000, 0.0000, 1.0000]], dtype=torch.float64)
    """
    classes = as_class_count(num_classes)
    before = as_labels(clean, classes, "clean labels")
    after = as_labels(noisy, classes, "noisy labels")
    if before.shape != after.shape:
        raise ValueError(f"{len(before)} clean labels do not fit {len(after)} noisy labels")
    counts = np.bincount(before * classes + after, minlength=classes**2).reshape(classes, classes)
    totals = counts.sum(1, keepdims=True)
    return as_tensor(np.where(totals > 0, counts / np.maximum(totals, 1), np.eye(classes)))
