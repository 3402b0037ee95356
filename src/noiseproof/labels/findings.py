"""From the probability that each label is wrong to what users read: marks, scores, rates, a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .suggestion import shared

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

LOWEST, HIGHEST = 0.35, 0.5
"""A label is marked above a threshold between these."""
MOST_MARKED = 0.55
"""Marks below the highest threshold are at most this share of the labels."""
WEAK_F1, HARDLY_ANY = 0.45, 0.02
"""Findings are weak where the expected F1 of the marks is lower, unless hardly any label is wrong at all."""


class Judgement(NamedTuple):
    """What is known of every label, in numbers."""

    label: np.ndarray
    wrong: np.ndarray
    """(N,) probability that the label is wrong; NaN where nothing is known."""
    true: np.ndarray
    """(N, C) probability of each class, given everything."""
    score: np.ndarray | None = None
    """(N,) from a record: a finer order than the probabilities; labels below 1/2 are marked."""


def threshold(wrong: np.ndarray) -> float:
    """The probability from which on a label is marked.

    Chosen:
        the one with the best expected F1, which is at most one half and lower the less sure the evidence is;
        not below LOWEST, as then most marks would be false. If it would mark most labels, the evidence does
        not tell right from wrong ones (to mark all of them then has the best expected F1), and the threshold
        is one half.
    Example:
        >>> threshold(np.array([0.9, 0.8, 0.4] + [0.1] * 3)), threshold(np.array([0.9] + [0.02] * 99))
        (0.4, 0.5)
        >>> threshold(np.full(100, 0.45))
        0.5
    """
    known = wrong[~np.isnan(wrong)]
    if not len(known):
        return HIGHEST
    ordered = np.sort(known)[::-1]
    expected = 2 * np.cumsum(ordered) / (np.arange(1, len(ordered) + 1) + ordered.sum())
    best = float(np.clip(ordered[expected.argmax()], LOWEST, HIGHEST))
    return best if np.count_nonzero(known >= best) <= MOST_MARKED * len(known) else HIGHEST


def marked(wrong: np.ndarray) -> np.ndarray:
    """(N,) bool: the labels to look at."""
    return np.asarray(np.nan_to_num(wrong, nan=0.0) >= threshold(wrong))


def expected_f1(wrong: np.ndarray) -> float:
    """F1 of the marks if the probabilities are right; 1 where no label is wrong and none is marked."""
    known, flagged = wrong[~np.isnan(wrong)], marked(wrong)
    either = flagged.sum() + known.sum()
    return float(2 * wrong[flagged].sum() / either) if either > 0 else 1.0


def is_weak(wrong: np.ndarray) -> bool:
    """Whether the marks are expected to miss or to invent most of the wrong labels.

    They are also weak where marking every label has a better expected F1: then the evidence does not tell
    which labels are wrong.
    """
    known = wrong[~np.isnan(wrong)]
    if not len(known) or known.mean() <= HARDLY_ANY:
        return False
    found, of_all = expected_f1(wrong), 2 * known.mean() / (1 + known.mean())
    return bool(found < max(WEAK_F1, of_all))


def weakness(about: Mapping[str, Any]) -> str | None:
    """Why the findings of ``find`` are weak evidence, and what to do; None where they are not.

    Args:
        about: the ``attrs`` of its frame.

    Example:
        >>> print(weakness({"weak": True, "noise_rate": 0.3}).partition(":")[0])
        About 30% of the labels seem to be wrong, but the data do not show well which
        >>> print(weakness({"weak": False, "noise_rate": 0.3}))
        None
    """
    if not about.get("weak"):
        return None
    missing = "marked labels may be right, and wrong ones may be missing"
    if "epochs" in about:
        return (
            f"This network learned too little to judge its labels: {missing}. Train longer, with a higher"
            " learning rate, or cross-fit with 'noiseproof labels find --data' before you change a label."
        )
    return (
        f"About {100 * about['noise_rate']:.0f}% of the labels seem to be wrong, but the data do not show"
        f" well which: {missing}. Look at a label before you change it; better features would help."
    )


def frame(judged: Judgement, index: np.ndarray, names: Sequence[Any], about: dict[str, Any]) -> DataFrame:
    """One row per label and, in ``attrs``, what holds for all; ``names``: the classes, of any type."""
    from pandas import DataFrame

    score = score_of(judged)
    issue = np.nan_to_num(score, nan=1.0) < 0.5
    predicted, sure = _predicted(judged, issue)
    found = DataFrame(
        {
            "index": index,
            "is_label_issue": issue,
            "label_score": score,
            "wrong_probability": judged.wrong,
            "given_label": judged.label,
            "predicted_label": predicted,
            "predicted_probability": sure,
        },
        copy=False,
    )
    found.attrs = {
        **rates(judged if judged.score is None else judged._replace(wrong=issue.astype(np.float64))),
        "expected_wrong": float(judged.wrong[issue].sum()),
        "weak": is_weak(judged.wrong),
        **about,
        "class_names": list(map(str, names)),
    }
    return with_classes(found, names)


def with_classes(found: DataFrame, classes: Sequence[Any]) -> DataFrame:
    """With ``given_name`` and ``predicted_name``, the classes themselves, after their numbers."""
    from pandas import Series

    values = np.array([*classes, None], dtype=object)  # None where nothing is predicted: -1
    for what in ("given", "predicted"):
        codes = found[f"{what}_label"]
        column = Series(values[codes.to_numpy()], index=found.index, dtype=object)
        with suppress(UnicodeError):  # names that are not valid Unicode stay objects
            column = column.infer_objects()
        found.insert(found.columns.get_loc(codes.name) + 1, f"{what}_name", column)
    return found


def rates(judged: Judgement) -> dict[str, Any]:
    """How many labels are expected to be wrong, in which classes, and instead of what."""
    known = ~np.isnan(judged.wrong)
    label, wrong, classes = judged.label[known], judged.wrong[known], judged.true.shape[1]
    given = np.bincount(label, minlength=classes)
    share = shared(judged.true[known], wrong, label)
    joint = np.zeros((classes, classes))
    np.add.at(joint.T, label, share)
    clean = joint.sum(1, keepdims=True)
    matrix = np.where(clean > 1e-9, joint / np.maximum(clean, 1e-9), np.eye(classes))
    return {
        "noise_rate": float(wrong.mean()) if len(wrong) else 0.0,
        "class_noise_rate": (np.bincount(label, wrong, minlength=classes) / np.maximum(given, 1)).tolist(),
        "transition": matrix.tolist(),
    }


def score_of(judged: Judgement) -> np.ndarray:
    """1 - probability, stretched so that the threshold lies at one half."""
    if judged.score is not None:
        return judged.score
    wrong, limit = judged.wrong, threshold(judged.wrong)
    above = 0.5 * (1 - wrong) / (1 - limit)
    below = 1 - 0.5 * wrong / limit
    return np.where(wrong >= limit, np.minimum(above, np.nextafter(0.5, 0)), below)


def _predicted(judged: Judgement, issue: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest class, of a marked label the likeliest other one, and its probability; -1 if unknown."""
    true = shared(judged.true, judged.wrong, judged.label)
    true[issue, judged.label[issue]] = -1
    likeliest = true.argmax(1)
    return np.where(np.isnan(judged.wrong), -1, likeliest), true[np.arange(len(true)), likeliest]
