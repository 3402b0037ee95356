"""A transition matrix from the confident joint: counts by given label and confidently predicted class."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from .anchor import as_probabilities
from .arrays import Floats, Integers, as_labels, as_tensor

TOLERANCE = 1e-6


def confident_joint(labels: object, probabilities: object, *, calibrate: bool = True) -> Tensor:
    r"""Count samples by given label and by confidently predicted class.

    Counts:
        :math:`t_j` = mean of :math:`p_j` over the samples given label j. The predicted class of a
        sample is the one with :math:`p_j\ge t_j`, the most probable of them if there are several; if there
        is none the sample is not counted. Every class has a count of at least 1 with itself.
    Calibrated:
        row s is scaled to the number of samples given label s, so that the whole sums to N.
    Bias:
        counts are accurate where posteriors are near 0 or 1; ambiguous samples are counted as errors.
    Shape:
        labels (N,), probabilities (N, K) of the given labels, out of sample (cross-validated); result
        (K, K) float64, ``[s, y]``: rows are given labels (as in cleanlab), the transpose of a transition
    Example:
        >>> p = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.85, 0.15]]
        >>> confident_joint([0, 0, 1, 1], p, calibrate=False)
        tensor([[1., 0.],
                [1., 1.]], dtype=torch.float64)

    Reference:
        Northcutt, Jiang & Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels, JAIR 2021.
        As in cleanlab's ``compute_confident_joint``, but calibrated counts are not rounded.
    """
    table = as_probabilities(probabilities)
    given = as_labels(labels, table.shape[1])
    if len(given) != len(table):
        raise ValueError(f"{len(given)} labels do not fit {len(table)} rows of probabilities")
    counts = _count(given, table)
    if calibrate:
        size = np.bincount(given, minlength=table.shape[1])
        counts *= (size / counts.sum(1))[:, None]
    return as_tensor(counts)


def confident_transition(labels: object, probabilities: object) -> Tensor:
    """P(given j | clean i) from the confident joint: its columns, made to sum to 1. (K, K) float64.

    A class that is never predicted gets the row of the identity.

    Example:
        >>> p = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.85, 0.15]]
        >>> confident_transition([0, 0, 1, 1], p)
        tensor([[0.6667, 0.3333],
                [0.0000, 1.0000]], dtype=torch.float64)
    """
    joint = confident_joint(labels, probabilities).numpy().T
    totals = joint.sum(1, keepdims=True)
    return as_tensor(np.where(totals > 0, joint / np.where(totals > 0, totals, 1), np.eye(len(joint))))


def _count(given: Integers, table: Floats) -> Floats:
    classes = table.shape[1]
    confident = table >= _thresholds(given, table) - TOLERANCE
    several = confident.sum(1) > 1
    predicted = np.where(several, table.argmax(1), confident.argmax(1))
    counted = confident.any(1)
    cells = given[counted] * classes + predicted[counted]
    counts = np.bincount(cells, minlength=classes**2).reshape(classes, classes).astype(np.float64)
    np.fill_diagonal(counts, np.maximum(np.diag(counts), 1.0))
    return counts


def _thresholds(given: Integers, table: Floats) -> Floats:
    """Mean self-confidence of every class; a class without samples is never predicted."""
    size = np.bincount(given, minlength=table.shape[1])
    own = np.bincount(given, weights=table[np.arange(len(given)), given], minlength=table.shape[1])
    return np.where(size > 0, own / np.maximum(size, 1), 2.0)
