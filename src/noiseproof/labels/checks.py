"""What users give beside a record, checked once and named when it is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def as_probabilities(given: object, samples: int | None = None, classes: int | None = None) -> Tensor:
    """(N, C) floats on the CPU, not copied if possible; the rows are checked when they are read."""
    try:
        array = given.detach().cpu() if isinstance(given, Tensor) else torch.from_numpy(_writable(given))
    except (TypeError, ValueError) as problem:
        raise TypeError(f"probabilities must be a table of numbers: {problem}") from None
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(f"probabilities are (N, C) with C >= 2, got the shape {tuple(array.shape)}")
    if not array.is_floating_point():
        raise TypeError(f"probabilities must be floating-point numbers, got {array.dtype}")
    if samples is not None and tuple(array.shape) != (samples, classes):
        raise ValueError(
            f"probabilities of shape {tuple(array.shape)} do not fit the record of {samples} samples and"
            f" {classes} classes"
        )
    return array


def as_label(given: object, probabilities: Tensor) -> Tensor:
    """(N,) int64, each the number of a column of the probabilities."""
    samples, classes = probabilities.shape
    if given is None:
        raise TypeError("probabilities alone need the given labels: label=...")
    array = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
    if array.shape != (samples,):
        raise ValueError(f"label of shape {array.shape} does not fit {samples} rows of probabilities")
    if array.dtype.kind not in "iu" and len(array):
        raise TypeError(f"label must hold class numbers, got {array.dtype}")
    bad = np.flatnonzero((array < 0) | (array >= classes))
    if len(bad):
        raise ValueError(f"label[{bad[0]}] = {array[bad[0]]} is no class: they go from 0 to {classes - 1}")
    return torch.from_numpy(array.astype(np.int64))


def known_names(given: Sequence[str] | None, classes: int) -> tuple[str, ...]:
    """One name per class; their numbers as text if none are given."""
    if given is None:
        return tuple(map(str, range(classes)))
    if isinstance(given, str) or len(given) != classes:
        raise ValueError(
            f"class_names must be {classes} names, one per column of probabilities, got {given!r}"
        )
    return tuple(map(str, given))


def _writable(given: object) -> np.ndarray:
    """torch warns of arrays it may not write to, although nothing here writes."""
    array: np.ndarray = np.asarray(given)
    if array.flags.writeable and not any(stride < 0 for stride in array.strides):
        return array
    return np.array(array)
