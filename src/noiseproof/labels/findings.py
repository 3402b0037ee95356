"""The frame of ``find``: suspects, scores, noise rates and a warning of weak evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .posterior import redistribute

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

MIN_THRESHOLD, MAX_THRESHOLD = 0.35, 0.5
"""Range of the threshold of a suspect."""
MAX_SUSPECT_SHARE, MIN_GAIN = 0.55, 0.1
"""The highest threshold applies if the best one makes a larger share of the labels suspects and closes a
smaller share of the gap between the expected F1 of all labels as suspects and 1."""
WEAK_F1, NEGLIGIBLE_NOISE = 0.45, 0.02
"""Findings are weak if the expected F1 of the suspects is lower, unless the noise rate is negligible."""


class Judgement(NamedTuple):
    """Estimates about every label."""

    label: np.ndarray
    wrong: np.ndarray
    """(N,) probability that the label is wrong; NaN if unknown."""
    true: np.ndarray
    """(N, C) posterior probability of each class."""
    score: np.ndarray | None = None
    """(N,) label score of a record, which ranks finer than the probabilities; suspects are below 1/2."""


def threshold(wrong: np.ndarray) -> float:
    """The lowest probability of a suspect.

    Chosen:
        the threshold with the best expected F1, clipped to [MIN_THRESHOLD, MAX_THRESHOLD]; with a lower one
        most suspects would be right labels. MAX_THRESHOLD if most labels would be suspects with hardly a
        better expected F1 than all labels: then the evidence does not separate wrong from right labels.
    Example:
        >>> threshold(np.array([0.9, 0.8, 0.4] + [0.1] * 3)), threshold(np.array([0.9] + [0.02] * 99))
        (0.4, 0.5)
        >>> threshold(np.full(100, 0.45))
        0.5
    """
    known = wrong[~np.isnan(wrong)]
    if not len(known):
        return MAX_THRESHOLD
    ordered = np.sort(known)[::-1]
    expected = 2 * np.cumsum(ordered) / (np.arange(1, len(ordered) + 1) + ordered.sum())
    best = float(np.clip(ordered[expected.argmax()], MIN_THRESHOLD, MAX_THRESHOLD))
    suspects = np.count_nonzero(known >= best)
    is_flat = suspects > MAX_SUSPECT_SHARE * len(known) and (
        expected[suspects - 1] - expected[-1] < MIN_GAIN * (1 - expected[-1])
    )
    return MAX_THRESHOLD if is_flat else best


def marked(wrong: np.ndarray) -> np.ndarray:
    """(N,) bool: the suspects."""
    return np.asarray(np.nan_to_num(wrong, nan=0.0) >= threshold(wrong))


def expected_f1(wrong: np.ndarray) -> float:
    """Expected F1 of the suspects under the probabilities; 1 if there are none and no label is wrong."""
    known, flagged = wrong[~np.isnan(wrong)], marked(wrong)
    either = flagged.sum() + known.sum()
    return float(2 * wrong[flagged].sum() / either) if either > 0 else 1.0


def is_weak(wrong: np.ndarray, classes: int) -> bool:
    """Whether the expected F1 of the suspects is low although labels are wrong.

    Also if it is higher with all labels as suspects, or if labels would be wrong more often than labels drawn
    at random: then the evidence does not separate wrong from right labels.
    """
    known = wrong[~np.isnan(wrong)]
    if not len(known) or known.mean() <= NEGLIGIBLE_NOISE:
        return False
    if known.mean() > 1 - 1 / classes:
        return True
    f1_of_all = 2 * known.mean() / (1 + known.mean())
    return bool(expected_f1(wrong) < max(WEAK_F1, f1_of_all))


def weakness(about: Mapping[str, Any]) -> str | None:
    """The warning to show if the findings of ``find`` are weak evidence, otherwise None.

    Args:
        about: the ``attrs`` of the frame.

    Example:
        >>> print(weakness({"weak": True, "noise_rate": 0.3}).partition(":")[0])
        About 30% of the labels seem to be wrong, but the data do not show reliably which
        >>> print(weakness({"weak": False, "noise_rate": 0.3}))
        None
    """
    if not about.get("weak"):
        return None
    consequence = "suspects may be right, and wrong labels may be missing"
    if "epochs" in about:
        return (
            f"The record of this network is not reliable evidence about labels: {consequence}. Cross-fit the"
            " data (noiseproof labels find --data DATA --folds 5) before you change a label. If it fits few"
            " labels, train it longer or with a higher learning rate."
        )
    return (
        f"About {100 * about['noise_rate']:.0f}% of the labels seem to be wrong, but the data do not show"
        f" reliably which: {consequence}. Review a label before you change it; better features would help."
    )


def frame(judged: Judgement, index: np.ndarray, names: Sequence[Any], about: dict[str, Any]) -> DataFrame:
    """The frame of ``find``: one row per label, and ``attrs``; ``names`` are the classes, of any type."""
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
        "weak": is_weak(judged.wrong, judged.true.shape[1]),
        **about,
        "class_names": list(map(str, names)),
    }
    return with_classes(found, names)


def take_index(found: DataFrame, *given: Any) -> None:
    """Give the frame the index of the first value that is a DataFrame or a Series, if any.

    With it ``table[found.is_label_issue]`` selects the same rows if the index does not count them from 0.
    """
    from pandas import DataFrame, Series

    for one in given:
        if isinstance(one, (DataFrame, Series)):
            found.index = one.index
            return


def with_classes(found: DataFrame, classes: Sequence[Any]) -> DataFrame:
    """Add ``given_name`` and ``predicted_name``, the classes as the user gave them, after their numbers."""
    from pandas import Series

    values = np.array([*classes, None], dtype=object)  # class -1, which means no prediction, is None
    for what in ("given", "predicted"):
        codes = found[f"{what}_label"]
        column = Series(values[codes.to_numpy()], index=found.index, dtype=object)
        with suppress(UnicodeError):  # a column of invalid Unicode keeps the dtype object
            column = column.infer_objects()
        found.insert(found.columns.get_loc(codes.name) + 1, f"{what}_name", column)
    return found


def rates(judged: Judgement) -> dict[str, Any]:
    """Expected noise rate, noise rate of each class, and transition matrix."""
    known = ~np.isnan(judged.wrong)
    label, wrong, classes = judged.label[known], judged.wrong[known], judged.true.shape[1]
    given = np.bincount(label, minlength=classes)
    share = redistribute(judged.true[known], wrong, label)
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
    """1 - probability, rescaled piecewise linearly so that the threshold is at 1/2."""
    if judged.score is not None:
        return judged.score
    wrong, limit = judged.wrong, threshold(judged.wrong)
    above = 0.5 * (1 - wrong) / (1 - limit)
    below = 1 - 0.5 * wrong / limit
    return np.where(wrong >= limit, np.minimum(above, np.nextafter(0.5, 0)), below)


def _predicted(judged: Judgement, issue: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest class and its probability, for a suspect of the other classes; -1 if unknown."""
    true = redistribute(judged.true, judged.wrong, judged.label)
    true[issue, judged.label[issue]] = -1
    likeliest = true.argmax(1)
    return np.where(np.isnan(judged.wrong), -1, likeliest), true[np.arange(len(true)), likeliest]
