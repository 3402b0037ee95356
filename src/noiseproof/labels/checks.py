"""Checks of probabilities and numbers that users pass."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from torch import Tensor

from ..features.recognise import as_numpy

SUM_TOLERANCE = 0.01


def as_probabilities(given: object, samples: int | None = None, classes: int | None = None) -> np.ndarray:
    """(N, C) float32, not copied if possible; ``check_rows`` checks the values."""
    try:
        array = as_numpy(given) if isinstance(given, Tensor) else np.asarray(given)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"probabilities must be a table of numbers: {problem}") from None
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(f"probabilities must have shape (N, C) with C >= 2, got {tuple(array.shape)}")
    if array.dtype.kind != "f":
        raise TypeError(f"probabilities must be floating-point numbers, got {array.dtype}")
    if samples is not None and tuple(array.shape) != (samples, classes):
        raise ValueError(
            f"probabilities must have shape {(samples, classes)}, as the record has {samples} samples and"
            f" {classes} classes, got {tuple(array.shape)}"
        )
    return array.astype(np.float32, copy=False)


def check_rows(probabilities: np.ndarray) -> None:
    """ValueError that names the first row that is not a probability distribution."""
    total = probabilities.sum(1)
    valid = (np.abs(total - 1) <= SUM_TOLERANCE) & (probabilities.min(1) >= 0)
    if valid.all():
        return
    row = int((~valid).argmax())
    invalid = ~((probabilities[row] >= 0) & (probabilities[row] <= 1))
    if invalid.any():
        column = int(invalid.argmax())
        value = float(probabilities[row, column])
        raise ValueError(f"probabilities[{row}, {column}] = {value:.6g} is not a probability")
    raise ValueError(
        f"row {row} of probabilities sums to {float(total[row]):.6g}, not to 1: pass probabilities of all"
        " classes, not logits"
    )


def check_whole(name: str, value: object, least: int | None = None) -> None:
    """TypeError if an argument is not a whole number, ValueError if it is below ``least``.

    Example:
        >>> check_whole("folds", 2.5)
        Traceback (most recent call last):
        TypeError: folds=2.5 must be a whole number
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} must be a whole number")
    if least is not None and value < least:
        raise ValueError(f"{name}={value!r} must be at least {least}")
