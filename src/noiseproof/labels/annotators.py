r"""Several annotators: one label for each sample, how good each annotator is, and which answers are wrong.

Every annotator a has a confusion matrix :math:`\pi^a_{kj}` = P(a answers j | true k). Given the matrices, the
answers of a sample say how likely each class is; given these probabilities, the answers say what the
matrices are. The two are found in turn (EM), as Dawid and Skene do, with two differences: each matrix is
drawn towards one that is right as often as its annotator is over all classes and wrong as all annotators
are, so that few answers do not make an expert or a spammer by chance; and a classifier may say how likely
each class is before anybody answers.

Reference:
    Dawid & Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm, Applied
    Statistics 1979; Raykar et al., Learning From Crowds, JMLR 2010
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..features import as_labels
from .checks import as_probabilities, check_rows

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

STEPS, ENOUGH = 30, 1e-4
OWN, SKILL = 10.0, 4.0
"""Numbers of answers that weigh as much as what is expected of a row of a matrix, and of a skill."""
ANCHOR, RIGHT = 0.1, 0.7
"""One more answer for every ten counts as right that often: a single answer per sample shows nothing."""
MOST_CELLS = 1 << 27
FEW, NEAR = 5000, 0.05
"""Rows that are enough to choose a temperature by, and how strongly it is held near 1: few answers say little
of it."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """What the answers of several annotators say together.

    Shape:
        soft_targets (N, C); transition (A, C, C), ``transition[a, i, j]`` = P(a answers j | true i)
    """

    labels: DataFrame
    """One row per sample: ``consensus_label`` (class number), ``wrong_probability`` (that it is wrong),
    ``agreement`` (share of answers that say the same), ``answers``, ``majority_label``."""
    annotators: DataFrame
    """One row per annotator: ``quality`` (probability that an answer is right), ``answers``, ``agreement``
    (with the consensus), ``worst_class`` (name), ``expected_wrong``."""
    answers: DataFrame
    """One row per answer: ``index`` (of the sample), ``annotator``, ``given_label``, ``predicted_label``,
    ``wrong_probability``, ``is_label_issue``."""
    soft_targets: np.ndarray
    """Probability of each class, for losses that take soft targets."""
    transition: np.ndarray
    class_names: tuple[str, ...]
    classes: tuple[Any, ...]
    """The labels as they were given, by class number."""

    def __repr__(self) -> str:
        return (
            f"Consensus({len(self.labels):,} samples, {len(self.annotators):,} annotators,"
            f" {len(self.answers):,} answers)"
        )


def consensus(
    table: Any = None,
    *,
    sample: Any = None,
    annotator: Any = None,
    label: Any = None,
    probabilities: object = None,
) -> Consensus:
    """One label for each sample from the answers of several annotators.

    Args:
        table: a DataFrame or an array with a row per sample and a column per annotator; blanks (None, NaN,
            "", and -1 among whole numbers) where one did not answer.
        sample, annotator, label: instead of a table, three columns of the same length, one entry per answer;
            for crowds of many annotators. Samples are numbered from 0.
        probabilities: (N, C) of a classifier that has not seen the sample, in the order of the sorted labels,
            as ``cross_val_predict`` gives them when fitted to ``consensus(table).labels.consensus_label``.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({
        ...     "ann": ["cat", "dog", "dog", "cat", "dog", None],
        ...     "bob": ["cat", "dog", "dog", "cat", None, "cat"],
        ...     "eve": ["dog", "cat", "dog", "dog", "cat", "cat"],
        ... })
        >>> found = consensus(table)
        >>> [found.class_names[number] for number in found.labels.consensus_label]
        ['cat', 'dog', 'dog', 'cat', 'dog', 'cat']
        >>> found.annotators.quality.idxmin()
        'eve'
    """
    answers = _answers(table, sample, annotator, label)
    codes, classes = as_labels(answers.label, "label")
    prior = None if probabilities is None else _prior(probabilities, answers.samples, len(classes))
    if answers.people * len(classes) ** 2 > MOST_CELLS:
        raise ValueError(
            f"{answers.people:,} annotators and {len(classes):,} classes need too large matrices: judge parts"
            " of the annotators"
        )
    crowd = _Crowd(answers.sample, answers.annotator, codes, answers.samples, answers.people, len(classes))
    true, matrices = crowd.fit(prior)
    return _described(crowd, true, matrices, answers.names, classes)


@dataclass(frozen=True)
class _Answers:
    sample: np.ndarray
    annotator: np.ndarray
    label: np.ndarray
    samples: int
    people: int
    names: list[Any]


def _answers(table: Any, sample: Any, annotator: Any, label: Any) -> _Answers:
    """One entry per answer, whatever form they came in."""
    from pandas import DataFrame, factorize

    columns = {"sample": sample, "annotator": annotator, "label": label}
    given = [name for name, column in columns.items() if column is not None]
    if (table is None) == (len(given) == 0) or 0 < len(given) < 3:
        raise TypeError("give a table, or sample=, annotator= and label= together")
    if table is None:
        rows = np.asarray(sample)
        if rows.dtype.kind not in "iu" or rows.ndim != 1 or not len(rows) or rows.min() < 0:
            raise ValueError("sample must hold the number of a sample, from 0, for each answer")
        people, names = factorize(np.asarray(annotator, dtype=object), sort=False)
        values = np.asarray(label, dtype=object)
        if not len(rows) == len(people) == len(values):
            raise ValueError(f"{len(rows):,} samples, {len(people):,} annotators and {len(values):,} labels")
        return _Answers(rows, people, values, int(rows.max()) + 1, len(names), list(names))
    frame = table if isinstance(table, DataFrame) else DataFrame(np.asarray(table))
    values = frame.astype(object).to_numpy()
    there = ~_blank(values)
    if not there.any():
        raise ValueError("the table has no answers")
    if not there.any(0).all():
        empty = frame.columns[int((~there.any(0)).argmax())]
        raise ValueError(f"annotator {empty!r} answered nothing: leave the column out")
    rows, people = np.nonzero(there)
    return _Answers(rows, people, values[there], len(frame), frame.shape[1], list(frame.columns))


def _blank(values: np.ndarray) -> np.ndarray:
    from pandas import isna

    found = np.asarray(isna(values)) | (values == "")
    numbers = [value for value in values[~found].tolist() if not isinstance(value, str)]
    return np.asarray(found | (values == -1)) if numbers else found


def _prior(given: object, samples: int, classes: int) -> np.ndarray:
    array = as_probabilities(given)
    if array.shape != (samples, classes):
        raise ValueError(
            f"probabilities of shape {array.shape} do not fit {samples:,} samples and {classes} classes"
        )
    check_rows(array)
    return array.astype(np.float64)


@dataclass(frozen=True)
class _Crowd:
    """Answers as numbers: that of annotator ``who[i]`` for sample ``row[i]`` is ``said[i]``."""

    row: np.ndarray
    who: np.ndarray
    said: np.ndarray
    samples: int
    people: int
    classes: int

    def counts(self) -> np.ndarray:
        """(N, C) how many annotators said each class."""
        found = np.zeros((self.samples, self.classes))
        np.add.at(found, (self.row, self.said), 1)
        return found

    def fit(self, prior: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities (N, C) of each class, and the matrices (A, C, C)."""
        counts = self.counts()
        true = (counts + 1 / self.classes) / (counts.sum(1, keepdims=True) + 1)
        logs = None if prior is None else np.log(np.clip(prior, 1e-6, 1))
        matrices = self.matrices(true)
        for _ in range(STEPS):
            before, said = true, self.said_of(matrices)
            known = np.log(self.frequencies(true)) if logs is None else _at_best_temperature(logs, said)
            true = _normal(known + said)
            matrices = self.matrices(true)
            if np.abs(true - before).max() < ENOUGH:
                break
        return true, matrices

    def frequencies(self, true: np.ndarray) -> np.ndarray:
        """(C,) share of each class, drawn towards that of the answers."""
        given = np.bincount(self.said, minlength=self.classes) / len(self.said)
        return np.asarray((true.mean(0) + ANCHOR * given) / (1 + ANCHOR))

    def matrices(self, true: np.ndarray) -> np.ndarray:
        """One matrix per annotator, drawn towards that of all."""
        counts = np.zeros((self.people, self.classes, self.classes))
        np.add.at(counts.transpose(0, 2, 1), (self.who, self.said), true[self.row])
        wrong = (1 - RIGHT) / (self.classes - 1)
        anchor = wrong + (RIGHT - wrong) * np.eye(self.classes)
        pooled = counts.sum(0) + ANCHOR * len(self.row) / self.classes * anchor
        pooled /= pooled.sum(1, keepdims=True)
        own = counts + OWN * self._expected(counts, pooled)
        return np.asarray(own / own.sum(2, keepdims=True))

    def _expected(self, counts: np.ndarray, pooled: np.ndarray) -> np.ndarray:
        """(A, C, C) what a matrix is drawn towards: right as often as the annotator is, wrong as all are."""
        same = np.arange(self.classes)
        right, total = counts[:, same, same].sum(1), counts.sum((1, 2))
        skill = (right + SKILL * float(pooled[same, same].mean())) / (total + SKILL)
        wrong = pooled.copy()
        wrong[same, same] = 0
        wrong /= wrong.sum(1, keepdims=True)
        found = (1 - skill)[:, None, None] * wrong
        found[:, same, same] = skill[:, None]
        return np.asarray(found)

    def said_of(self, matrices: np.ndarray) -> np.ndarray:
        """(N, C) log probability of all answers of a sample, if the class is the true one."""
        found = np.zeros((self.samples, self.classes))
        np.add.at(found, self.row, np.log(matrices.transpose(0, 2, 1)[self.who, self.said]))
        return found


def _at_best_temperature(logs: np.ndarray, said: np.ndarray) -> np.ndarray:
    """Log probabilities of a classifier under the temperature that makes the answers likeliest."""
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    rows = slice(None, None, len(logs) // FEW + 1)
    some, answers = logs[rows], said[rows]

    def surprise(log_scale: float) -> float:
        scaled = some * np.exp(log_scale)
        unlikely = (_log_total(scaled) - _log_total(scaled + answers)).mean()
        return float(unlikely + NEAR * log_scale**2)

    scale = np.exp(minimize_scalar(surprise, bounds=(-2, 2), method="bounded", options={"xatol": 0.01}).x)
    return np.asarray(logs * scale - _log_total(logs * scale)[:, None])


def _log_total(logs: np.ndarray) -> np.ndarray:
    highest = logs.max(1)
    return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(1)))


def _normal(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(logs - _log_total(logs)[:, None]))


def _described(
    crowd: _Crowd, true: np.ndarray, matrices: np.ndarray, people: list[Any], classes: list[Any]
) -> Consensus:
    names = tuple(map(str, classes))
    return Consensus(
        _label_table(crowd, true),
        _annotator_table(crowd, true, matrices, people, names),
        _answer_table(crowd, true, people),
        true,
        matrices,
        names,
        tuple(classes),
    )


def _label_table(crowd: _Crowd, true: np.ndarray) -> DataFrame:
    from pandas import DataFrame

    chosen, counts, numbers = true.argmax(1), crowd.counts(), np.arange(crowd.samples)
    total = counts.sum(1)
    unknown = np.full(crowd.samples, np.nan)
    return DataFrame(
        {
            "index": numbers,
            "consensus_label": chosen,
            "wrong_probability": 1 - true[numbers, chosen],
            "agreement": np.divide(counts[numbers, chosen], total, out=unknown, where=total > 0),
            "answers": total.astype(np.int64),
            "majority_label": counts.argmax(1),
        }
    )


def _answer_table(crowd: _Crowd, true: np.ndarray, people: list[Any]) -> DataFrame:
    from pandas import DataFrame

    right = true[crowd.row, crowd.said]
    return DataFrame(
        {
            "index": crowd.row,
            "annotator": np.asarray(people, dtype=object)[crowd.who],
            "given_label": crowd.said,
            "predicted_label": true.argmax(1)[crowd.row],
            "wrong_probability": 1 - right,
            "is_label_issue": right < 0.5,
        }
    )


def _annotator_table(
    crowd: _Crowd, true: np.ndarray, matrices: np.ndarray, people: list[Any], names: tuple[str, ...]
) -> DataFrame:
    from pandas import DataFrame, Index

    many = np.bincount(crowd.who, minlength=crowd.people)
    diagonal = matrices[:, np.arange(crowd.classes), np.arange(crowd.classes)]
    agrees = crowd.said == true.argmax(1)[crowd.row]
    wrong = 1 - true[crowd.row, crowd.said]
    return DataFrame(
        {
            "quality": diagonal @ crowd.frequencies(true),
            "answers": many,
            "agreement": np.bincount(crowd.who, agrees, minlength=crowd.people) / many,
            "worst_class": [names[number] for number in diagonal.argmin(1)],
            "expected_wrong": np.bincount(crowd.who, wrong, minlength=crowd.people),
        },
        index=Index(people, name="annotator"),
    )
