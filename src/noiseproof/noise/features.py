"""Inputs as rows of numbers, in memory or read on access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ..data.inputs import CHUNK, LazyInputs
from .arrays import Floats, Integers, as_numpy
from .base import Samples


class Features(Protocol):
    """Rows (N, D) that can be indexed."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: Integers, /) -> Floats: ...


class LazyFeatures:
    """Rows of inputs that are read, for example from files, and checked on access."""

    def __init__(self, inputs: LazyInputs) -> None:
        self.inputs = inputs
        first = as_numpy(inputs.read(np.arange(1))) if len(inputs) else np.zeros((0, 0))
        self.shape = (len(inputs), int(np.prod(first.shape[1:])))

    def __getitem__(self, rows: Integers) -> Floats:
        read = as_numpy(self.inputs.read(rows)).reshape(len(rows), -1).astype(np.float64)
        _check_finite(read, rows)
        return read


def as_features(samples: Samples) -> Features:
    """Inputs as rows (N, D), checked."""
    if samples.inputs is None:
        raise ValueError("instance: the inputs are missing: pass inputs= with one row for every label")
    if isinstance(samples.inputs, LazyInputs):
        if len(samples.inputs) != len(samples.labels):
            raise ValueError(
                f"instance: {len(samples.inputs)} inputs do not fit {len(samples.labels)} labels"
            )
        return LazyFeatures(samples.inputs)
    array = as_numpy(samples.inputs)
    if array.ndim < 2 or len(array) != len(samples.labels) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"instance: inputs of shape {array.shape} and type {array.dtype} do not fit {len(samples.labels)}"
            " labels: numbers of shape (N, ...) are needed"
        )
    features = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if features.dtype.kind == "f":
        _check_finite(features, np.arange(len(features)))  # type: ignore[arg-type]
    return features  # type: ignore[return-value]


def in_chunks(rows: Integers, features: Features) -> Iterator[Integers]:
    """The rows in parts, so that a bounded number of values is read from files at a time."""
    step = max(1, CHUNK // max(1, features.shape[1])) if isinstance(features, LazyFeatures) else len(rows)
    for start in range(0, len(rows), max(1, step)):
        yield rows[start : start + step]


def _check_finite(features: Floats, rows: Integers) -> None:
    good = np.isfinite(features).all(1)
    if not good.all():
        raise ValueError(f"instance: inputs[{rows[int(np.argmin(good))]}] is not finite")
