"""Features of the calibrator: statistics of each row, of its class and of the whole data, without units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .posterior import Posterior, agrees, log_odds

SHARES = (0.1, 0.25, 0.5)
"""Shares of the most confident rows whose agreement with their labels is a feature."""


def features_of(rounds: Sequence[Posterior], label: np.ndarray) -> np.ndarray:
    """(N, F) features: those of each round, then those of the class sizes."""
    parts = [np.concatenate([_rows(one, label), _classes(one, label), _set(one, label)], 1) for one in rounds]
    return np.concatenate([*parts, _size(label, rounds[0].noisy.shape[1])], 1).astype(np.float32)


def _rows(one: Posterior, label: np.ndarray) -> np.ndarray:
    rows = np.arange(len(label))
    given = np.log(np.clip(one.noisy[rows, label], 1e-6, 1))
    others = one.noisy.copy()
    others[rows, label] = 0
    margin = np.clip(given - np.log(np.clip(others.max(1), 1e-6, 1)), -8, 8)
    true = log_odds(one.true, label)
    columns = [log_odds(one.noisy, label), true, margin, np.minimum(one.spread, 4), _rank(true, label)]
    return np.stack(columns, 1)


def _rank(value: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Rank in (0, 1) among the rows with the same label."""
    order = np.lexsort((value, label))
    counts = np.bincount(label)
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(label))
    rank[order] = (np.arange(len(label)) - start[label[order]] + 0.5) / counts[label[order]]
    return rank


def _classes(one: Posterior, label: np.ndarray) -> np.ndarray:
    """Features of the given class: P(given | true), mean probability and agreement."""
    counts = np.maximum(np.bincount(label, minlength=one.noisy.shape[1]), 1)
    rows = np.arange(len(label))

    def mean(value: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(label, value, minlength=len(counts)) / counts)

    given = mean(one.noisy[rows, label])
    right = mean(agrees(one.noisy, label))
    return np.stack([np.diag(one.transition)[label], given[label], right[label]], 1)


def _set(one: Posterior, label: np.ndarray) -> np.ndarray:
    share = np.bincount(label, minlength=one.noisy.shape[1]) / len(label)
    right, order = agrees(one.noisy, label), np.argsort(-one.noisy.max(1), kind="stable")
    facts = [
        right.mean(),
        (right.mean() - share.max()) / max(1 - share.max(), 1e-9),
        (np.diag(one.transition) * share).sum(),
        1 - one.true[np.arange(len(label)), label].mean(),
        *(right[order[: max(int(part * len(label)), 1)]].mean() for part in SHARES),
    ]
    return np.tile(np.clip(facts, -1, 1), (len(label), 1))


def _size(label: np.ndarray, classes: int) -> np.ndarray:
    share = np.bincount(label, minlength=classes) / len(label)
    of_class = np.log(np.clip(share[label] * classes, 0.01, 10))
    return np.column_stack([of_class, np.tile([np.log(min(classes, 60)), share.max()], (len(label), 1))])
