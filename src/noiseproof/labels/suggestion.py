"""The class to suggest instead of a label that is probably wrong."""

from __future__ import annotations

import numpy as np

from .posterior import rescale


def class_probabilities(predicted: np.ndarray, wrong: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(N, C) P(true class | row, given label): 1 - ``wrong`` for the given label, ``wrong`` for all others.

    Another class gets a share proportional to the predicted probability times the rate at which rows of that
    class get this label. The rate is estimated from all rows, weighted by ``wrong``.

    Args:
        predicted: (N, C) out-of-sample probabilities.
        wrong: (N,) probability that the label is wrong.
        label: (N,) given labels.
    """
    sharp = rescale(predicted, label, 1 - wrong)
    counts = np.ones((sharp.shape[1], sharp.shape[1]))
    np.add.at(counts.T, label, shared(sharp, wrong, label, given=0.0))
    rate = counts / np.clip(sharp.mean(0), 1e-9, None)[:, None]
    return shared(sharp * rate[:, label].T, wrong, label)


def shared(true: np.ndarray, wrong: np.ndarray, label: np.ndarray, given: float | None = None) -> np.ndarray:
    """Rescale rows: the given label gets 1 - ``wrong``, or ``given``; the other classes sum to ``wrong``.

    Example:
        >>> shared(np.array([[0.2, 0.6, 0.2]]), np.array([0.4]), np.array([1]))
        array([[0.2, 0.6, 0.2]])
    """
    rows = np.arange(len(label))
    found: np.ndarray = np.clip(true, 1e-12, None, dtype=np.float64)
    found[rows, label] = 0
    found *= (wrong / np.clip(found.sum(1), 1e-30, None))[:, None]
    found[rows, label] = 1 - wrong if given is None else given
    return found
