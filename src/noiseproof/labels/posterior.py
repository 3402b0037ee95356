"""The probability that a given label is right, from predictions of noisy labels.

A model fitted to given labels predicts P(given label | row), not P(true label | row). The transition matrix
T[k, j] = P(given j | true k) relates the two. ``transition`` estimates T from the rows with the highest
probability of each class, ``true_probability`` inverts it, and Bayes' rule gives the probability that the
given label is the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ANCHORS = 0.1
"""Share of the rows of a class, those with the highest probability, from which its row of T is estimated."""
RARE = 0.25
"""A class is rare if it has fewer rows than this share of the mean number of rows of a class."""
ACCURACY_SCALE = 20.0
"""A model whose accuracy on given labels is lower by a has exp(-20 a) times the weight of the best one."""
MAX_ROWS, MAX_CLASSES, BLOCK = 50_000, 64, 4096
"""Maximum number of rows to estimate T from, and of classes considered for a row; rows of a block."""


class Posterior(NamedTuple):
    """Estimates from the predictions of one round of models."""

    noisy: np.ndarray
    """(N, C) P(given label | row)."""
    true: np.ndarray
    """(N, C) P(true label | row, given label)."""
    transition: np.ndarray
    """(C, C) P(given j | true k)."""
    spread: np.ndarray
    """(N,) standard deviation over the models of the log odds of the given label."""


def posterior(predictions: Sequence[np.ndarray], label: np.ndarray) -> Posterior:
    """Combine the predictions of several models and estimate which labels are right."""
    noisy = rescale(combine(predictions, label), label)
    matrix = transition(noisy, label)
    joint = true_probability(noisy, matrix, label) * matrix[:, label].T
    spread = np.std([log_odds(one, label) for one in predictions], axis=0)
    return Posterior(noisy, joint / np.clip(joint.sum(1, keepdims=True), 1e-12, None), matrix, spread)


def combine(predictions: Sequence[np.ndarray], label: np.ndarray) -> np.ndarray:
    """Geometric mean of the predictions, weighted by their accuracy on the given labels."""
    return combine_weighted(predictions, weights_of(predictions, label))


def weights_of(predictions: Sequence[np.ndarray], label: np.ndarray) -> np.ndarray:
    """Weights proportional to exp(ACCURACY_SCALE * accuracy on the given labels), with sum 1."""
    accuracy = np.array([(one.argmax(1) == label).mean() for one in predictions])
    weight = np.exp(ACCURACY_SCALE * (accuracy - accuracy.max()))
    return np.asarray(weight / weight.sum())


def combine_weighted(predictions: Sequence[np.ndarray], weight: np.ndarray) -> np.ndarray:
    """Weighted geometric mean of probabilities."""
    parts = zip(weight, predictions, strict=True)
    return _softmax(np.asarray(sum(w * np.log(np.clip(one, 1e-4, 1)) for w, one in parts)))


def rescale(probability: np.ndarray, label: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Temperature scaling: the temperature maximises the weighted likelihood of the given labels."""
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    count = min(len(label), MAX_ROWS)
    chosen = np.random.default_rng(0).choice(len(label), count, replace=False)
    logs = np.log(np.clip(probability[chosen], 1e-6, 1))
    rows, given = np.arange(len(logs)), label[chosen]
    weights = np.ones(len(logs)) if weight is None else weight[chosen]

    def negative_log_likelihood(log_scale: float) -> float:
        p = _softmax(logs * np.exp(log_scale))[rows, given]
        return -float((weights * np.log(np.clip(p, 1e-12, 1))).mean())

    scale = float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-2, 2), method="bounded").x))
    return _softmax(np.log(np.clip(probability, 1e-6, 1)) * scale)


def transition(noisy: np.ndarray, label: np.ndarray) -> np.ndarray:
    """T, one row per class: the mean prediction over the rows with the highest probability of the class.

    If even these rows of a rare class are predicted to be of another one, as for a misspelt class name,
    they tell nothing about it. Its row of T is then that of right labels; estimated, it would be a mixture
    of other classes, and ``true_probability`` would assign the rows between those to the rare class.
    """
    classes = noisy.shape[1]
    sizes = np.bincount(label, minlength=classes)
    if len(noisy) > MAX_ROWS:
        chosen = np.random.default_rng(0).choice(len(noisy), MAX_ROWS, replace=False)
        noisy, sizes = noisy[chosen], sizes * MAX_ROWS // len(label)
    found = np.empty((classes, classes), dtype=noisy.dtype)
    for k in range(classes):
        count = max(int(ANCHORS * sizes[k]), min(3, len(noisy)))
        found[k] = noisy[np.argpartition(-noisy[:, k], count - 1)[:count]].mean(0)
    is_rare = sizes < RARE * sizes.mean()
    unknown = np.flatnonzero(is_rare & (found.argmax(1) != np.arange(classes)))
    found[unknown] = np.eye(classes, dtype=noisy.dtype)[unknown]
    return np.asarray(found / found.sum(1, keepdims=True))


def true_probability(noisy: np.ndarray, matrix: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The p on the simplex that minimises the Kullback-Leibler divergence of p T from the prediction, by EM.

    With many classes, only the likeliest classes of each row and its label are considered.
    """
    if noisy.shape[1] <= MAX_CLASSES:
        return _by_em(noisy, matrix)
    found = np.zeros_like(noisy)
    for start in range(0, len(noisy), BLOCK):
        part = slice(start, start + BLOCK)
        columns = np.argpartition(-noisy[part], MAX_CLASSES - 1, axis=1)[:, :MAX_CLASSES]
        missing = ~(columns == label[part, None]).any(1)
        columns[missing, -1] = label[part][missing]
        near = np.take_along_axis(noisy[part], columns, axis=1)
        pairs = matrix[columns[:, :, None], columns[:, None, :]]
        near = _by_em(near / near.sum(1, keepdims=True), pairs / pairs.sum(2, keepdims=True))
        np.put_along_axis(found[part], columns, near, axis=1)
    return found


def _by_em(noisy: np.ndarray, matrix: np.ndarray, steps: int = 50) -> np.ndarray:
    """``matrix`` is (C, C) for all rows or (N, C, C)."""
    true = np.full_like(noisy, 1 / noisy.shape[1])
    back = np.swapaxes(matrix, -1, -2)
    for _ in range(steps):
        if matrix.ndim == 2:
            true = true * ((noisy / np.clip(true @ matrix, 1e-9, None)) @ back)
        else:
            image = np.clip((true[:, None] @ matrix)[:, 0], 1e-9, None)
            true = true * ((noisy / image)[:, None] @ back)[:, 0]
        true /= np.clip(true.sum(1, keepdims=True), 1e-12, None)
    return true


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
    np.add.at(counts.T, label, redistribute(sharp, wrong, label, given=0.0))
    rate = counts / np.clip(sharp.mean(0), 1e-9, None)[:, None]
    return redistribute(sharp * rate[:, label].T, wrong, label)


def agrees(probability: np.ndarray, label: np.ndarray) -> np.ndarray:
    """(N,) bool: whether no class is likelier than the given label, which wins a tie."""
    return np.asarray(probability[np.arange(len(label)), label] >= probability.max(1))


def predicts(predictions: Sequence[np.ndarray], label: np.ndarray) -> bool:
    """Whether predictions agree with more labels than the most frequent class; ties count in part.

    Example:
        >>> label = np.array([0, 0, 1])
        >>> predicts([np.full((3, 2), 0.5)], label), predicts([np.eye(2)[label]], label)
        (False, True)
    """
    combined = combine(predictions, label)
    ties = (combined == combined.max(1, keepdims=True)).sum(1)
    share = np.bincount(label).max() / len(label)
    return bool(share == 1 or (agrees(combined, label) / ties).mean() > share + 1e-9)


def redistribute(
    true: np.ndarray, wrong: np.ndarray, label: np.ndarray, given: float | None = None
) -> np.ndarray:
    """Rescale rows: the given label gets 1 - ``wrong``, or ``given``; the other classes sum to ``wrong``.

    Example:
        >>> redistribute(np.array([[0.2, 0.6, 0.2]]), np.array([0.4]), np.array([1]))
        array([[0.2, 0.6, 0.2]])
    """
    rows = np.arange(len(label))
    found: np.ndarray = np.clip(true, 1e-12, None, dtype=np.float64)
    found[rows, label] = 0
    found *= (wrong / np.clip(found.sum(1), 1e-30, None))[:, None]
    found[rows, label] = 1 - wrong if given is None else given
    return found


def log_odds(probability: np.ndarray, label: np.ndarray, limit: float = 8.0) -> np.ndarray:
    """log p / (1 - p) of the given label."""
    given = np.clip(probability[np.arange(len(label)), label].astype(np.float64), 1e-9, 1 - 1e-9)
    return np.asarray(np.clip(np.log(given) - np.log1p(-given), -limit, limit))


def _softmax(logs: np.ndarray) -> np.ndarray:
    raised = np.exp(logs - logs.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))
