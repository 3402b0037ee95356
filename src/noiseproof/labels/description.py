"""What the judge sees of a row: its own evidence, its class's and the whole set's, without units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .posterior import Posterior, log_odds

SHARES = (0.1, 0.25, 0.5)
"""Of the rows, the surest: how often do they have the label that is predicted?"""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def describe(rounds: Sequence[Posterior], label: np.ndarray) -> np.ndarray:
    """(N, F) features: those of every round, then those of the set."""
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
    """In (0, 1), among the rows with the same label."""
    order = np.lexsort((value, label))
    counts = np.bincount(label)
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(label))
    rank[order] = (np.arange(len(label)) - start[label[order]] + 0.5) / counts[label[order]]
    return rank


def _classes(one: Posterior, label: np.ndarray) -> np.ndarray:
    """Of the given label's class: honesty according to T, mean prediction and agreement."""
    counts = np.maximum(np.bincount(label, minlength=one.noisy.shape[1]), 1)
    rows = np.arange(len(label))

    def mean(value: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(label, value, minlength=len(counts)) / counts)

    given = mean(one.noisy[rows, label])
    right = mean(one.noisy.argmax(1) == label)
    return np.stack([np.diag(one.transition)[label], given[label], right[label]], 1)


def _set(one: Posterior, label: np.ndarray) -> np.ndarray:
    rows, share = np.arange(len(label)), np.bincount(label, minlength=one.noisy.shape[1]) / len(label)
    agrees, sure = one.noisy.argmax(1) == label, one.noisy.max(1)
    order = np.argsort(-sure, kind="stable")
    true, honest = one.true[rows, label], np.diag(one.transition)[share > 0]
    facts = [
        agrees.mean(),
        (agrees.mean() - share.max()) / max(1 - share.max(), 1e-9),
        sure.mean(),
        honest.min(),
        (np.diag(one.transition) * share).sum(),
        1 - true.mean(),
        one.spread.mean(),
        *(agrees[order[: max(int(part * len(label)), 1)]].mean() for part in SHARES),
        *np.quantile(true, QUANTILES),
        *np.quantile(one.noisy[rows, label], QUANTILES),
    ]
    return np.tile(np.clip(facts, -1, 4), (len(label), 1))


def _size(label: np.ndarray, classes: int) -> np.ndarray:
    share = np.bincount(label, minlength=classes) / len(label)
    of_class = np.log(np.clip(share[label] * classes, 0.01, 10))
    whole = [np.log(min(classes, 60)), share.max(), np.log(np.clip(len(label), 100, 1000))]
    return np.column_stack([of_class, np.tile(whole, (len(label), 1))])
