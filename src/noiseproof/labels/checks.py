"""Checks of probabilities, labels and class names that users pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

SUM_TOLERANCE = 0.01


def as_probabilities(given: object, samples: int | None = None, classes: int | None = None) -> np.ndarray:
    """(N, C) float32, not copied if possible; ``check_rows`` checks the values."""
    try:
        array = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
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


def as_class_numbers(
    given: object, probabilities: np.ndarray, names: Sequence[object] | None = None
) -> np.ndarray:
    """(N,) int64, each the number of a column of the probabilities; ``names`` are those of the columns."""
    samples, classes = probabilities.shape
    if given is None:
        raise TypeError("probabilities without a run need the given labels: pass label=...")
    array = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
    if array.shape != (samples,):
        raise ValueError(f"label must have shape {(samples,)}, as probabilities, got {array.shape}")
    if array.dtype.kind not in "iu" and names is not None:
        numbers = {str(name): number for number, name in enumerate(names)}
        unknown = next((name for name in map(str, array.tolist()) if name not in numbers), None)
        if unknown is not None:
            raise ValueError(f"label {unknown!r} is not among class_names: {', '.join(list(numbers)[:5])}")
        return np.array([numbers[str(name)] for name in array.tolist()], dtype=np.int64)
    if array.dtype.kind not in "iu" and len(array):
        raise TypeError(
            f"label must hold class numbers, the columns of probabilities, got {array[0]!r}: pass the"
            " positions of the labels in the order of the columns, and class_names=..."
        )
    bad = np.flatnonzero((array < 0) | (array >= classes))
    if len(bad):
        raise ValueError(f"label[{bad[0]}] = {array[bad[0]]} is not a valid class: choose 0 to {classes - 1}")
    return array.astype(np.int64)


def known_names(given: Sequence[str] | None, classes: int) -> tuple[str, ...]:
    """One name per class; the class numbers as text if ``given`` is None."""
    if given is None:
        return tuple(map(str, range(classes)))
    if isinstance(given, str) or len(given) != classes:
        raise ValueError(
            f"class_names must be {classes} names, one per column of probabilities, got {given!r}"
        )
    return tuple(map(str, given))
