"""From the probability that each label is wrong to what users read: marks, scores, rates, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

LOWEST, FEW = 0.25, 0.1
"""A label is marked above a threshold between LOWEST and 1/2; it is 1/2 where less than FEW are wrong."""
WEAK_F1 = 0.4
"""Findings are weak where the expected F1 of the marks is lower."""


class Judgement(NamedTuple):
    """What is known of every label, in numbers."""

    label: np.ndarray
    wrong: np.ndarray
    """(N,) probability that the label is wrong; NaN where nothing is known."""
    true: np.ndarray
    """(N, C) probability of each class, given everything."""


def threshold(wrong: np.ndarray) -> float:
    """The probability from which on a label is marked.

    Chosen:
        the one with the best expected F1, which asks for less than one half where many labels are wrong, but
        not below a quarter; one half where few labels are wrong, as then most marks would be false.
    Example:
        >>> threshold(np.array([0.9, 0.8, 0.4, 0.4, 0.1])), threshold(np.array([0.6] + [0.02] * 99))
        (0.4, 0.5)
    """
    known = wrong[~np.isnan(wrong)]
    if not len(known) or known.mean() < FEW:
        return 0.5
    ordered = np.sort(known)[::-1]
    expected = 2 * np.cumsum(ordered) / (np.arange(1, len(ordered) + 1) + ordered.sum())
    return float(np.clip(ordered[expected.argmax()], LOWEST, 0.5))


def marked(wrong: np.ndarray) -> np.ndarray:
    """(N,) bool: the labels to look at."""
    return np.nan_to_num(wrong, nan=0.0) >= threshold(wrong)


def expected_f1(wrong: np.ndarray) -> float:
    """F1 of the marks if the probabilities are right; 1 where no label is wrong and none is marked."""
    known, flagged = wrong[~np.isnan(wrong)], marked(wrong)
    either = flagged.sum() + known.sum()
    return float(2 * wrong[flagged].sum() / either) if either > 0 else 1.0


def frame(judged: Judgement, index: np.ndarray, names: Sequence[str], about: dict[str, Any]) -> DataFrame:
    """One row per label and, in ``attrs``, what holds for all of them."""
    from pandas import DataFrame

    issue = marked(judged.wrong)
    found = DataFrame(
        {
            "index": index,
            "is_label_issue": issue,
            "label_score": _score(judged.wrong),
            "wrong_probability": judged.wrong,
            "given_label": judged.label,
            "predicted_label": _predicted(judged, issue),
        },
        copy=False,
    )
    found.attrs = {
        **rates(judged),
        "expected_wrong": float(judged.wrong[issue].sum()),
        "weak": expected_f1(judged.wrong) < WEAK_F1,
        **about,
        "class_names": list(names),
    }
    return found


def rates(judged: Judgement) -> dict[str, Any]:
    """How many labels are expected to be wrong, in which classes, and instead of what."""
    known = ~np.isnan(judged.wrong)
    label, wrong, classes = judged.label[known], judged.wrong[known], judged.true.shape[1]
    given = np.bincount(label, minlength=classes)
    rows = np.arange(len(label))
    share = judged.true[known].copy()
    share[rows, label] = 0
    total = share.sum(1, keepdims=True)
    share *= np.divide(wrong[:, None], total, out=np.zeros_like(total), where=total > 0)
    share[rows, label] = 1 - wrong
    joint = np.zeros((classes, classes))
    np.add.at(joint.T, label, share)
    clean = joint.sum(1, keepdims=True)
    matrix = np.where(clean > 1e-9, joint / np.maximum(clean, 1e-9), np.eye(classes))
    return {
        "noise_rate": float(wrong.mean()) if len(wrong) else 0.0,
        "class_noise_rate": (np.bincount(label, wrong, minlength=classes) / np.maximum(given, 1)).tolist(),
        "transition": matrix.tolist(),
    }


def _score(wrong: np.ndarray) -> np.ndarray:
    """1 - probability, stretched so that the threshold lies at one half."""
    limit = threshold(wrong)
    above = 0.5 * (1 - wrong) / (1 - limit)
    below = 1 - 0.5 * wrong / limit
    return np.where(wrong >= limit, np.minimum(above, np.nextafter(0.5, 0)), below)


def _predicted(judged: Judgement, issue: np.ndarray) -> np.ndarray:
    """The likeliest class; of a marked label the likeliest other one; -1 where nothing is known."""
    true = judged.true.copy()
    true[issue, judged.label[issue]] = -1
    return np.where(np.isnan(judged.wrong), -1, true.argmax(1))
