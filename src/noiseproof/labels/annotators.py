r"""Consensus labels of several annotators, the accuracy of each annotator, and which answers are wrong.

Every annotator a has a confusion matrix :math:`\pi^a_{kj}` = P(a answers j | true k). The matrices and the
class probabilities of the samples are estimated alternately by EM, as Dawid and Skene do, with two
differences: each matrix is regularised towards one with the overall accuracy of its annotator and the
errors of all annotators, because few answers say little about one matrix; and the predictions of a
classifier can be the prior of each sample.

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

MAX_STEPS, TOLERANCE = 30, 1e-4
MATRIX_PRIOR, ACCURACY_PRIOR = 10.0, 4.0
"""Weight of the prior of a row of a matrix, and of the prior of an accuracy, as numbers of answers."""
POOLED_PRIOR, PRIOR_ACCURACY = 0.1, 0.7
"""Weight of the prior of the pooled matrix, as a share of the answers, and its accuracy: with one answer per
sample the answers contain no information about the accuracy."""
MAX_MATRIX_ENTRIES = 1 << 27
TEMPERATURE_ROWS, TEMPERATURE_PRIOR = 5000, 0.05
"""Rows used to fit a temperature, and the weight of the penalty on its squared logarithm."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """Result of ``consensus``.

    Shape:
        soft_targets (N, C); transition (A, C, C), ``transition[a, i, j]`` = P(a answers j | true i)
    """

    labels: DataFrame
    """One row per sample: ``consensus_label`` (class number), ``wrong_probability`` (that it is wrong),
    ``agreement`` (share of answers with that class), ``answers``, ``majority_label``."""
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
    """The original labels, by class number."""

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
    """Estimate one label for each sample from the answers of several annotators.

    Args:
        table: a DataFrame or an array with a row per sample and a column per annotator; blanks (None, NaN,
            "", and -1 among whole numbers) where an annotator did not answer.
        sample, annotator, label: instead of a table, three columns of the same length, one entry per answer;
            for many annotators. Samples are numbered from 0.
        probabilities: (N, C) out-of-sample predictions of a classifier, in the order of the sorted labels,
            such as those of ``cross_val_predict`` for ``consensus(table).labels.consensus_label``.

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
    if answers.people * len(classes) ** 2 > MAX_MATRIX_ENTRIES:
        raise ValueError(
            f"the matrices of {answers.people:,} annotators and {len(classes):,} classes are too large:"
            " split the annotators into groups"
        )
    crowd = _Crowd(answers.sample, answers.annotator, codes, answers.samples, answers.people, len(classes))
    true, matrices = crowd.fit(prior)
    return _result(crowd, true, matrices, answers.names, classes)


@dataclass(frozen=True)
class _Answers:
    sample: np.ndarray
    annotator: np.ndarray
    label: np.ndarray
    samples: int
    people: int
    names: list[Any]


def _answers(table: Any, sample: Any, annotator: Any, label: Any) -> _Answers:
    """Convert a table or three columns to one entry per answer."""
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
    answered = ~_blank(values)
    if not answered.any():
        raise ValueError("the table has no answers")
    if not answered.any(0).all():
        empty = frame.columns[int((~answered.any(0)).argmax())]
        raise ValueError(f"annotator {empty!r} has no answers: leave the column out")
    rows, people = np.nonzero(answered)
    return _Answers(rows, people, values[answered], len(frame), frame.shape[1], list(frame.columns))


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
    """Answers as numbers: annotator ``who[i]`` gave sample ``row[i]`` the label ``answer[i]``."""

    row: np.ndarray
    who: np.ndarray
    answer: np.ndarray
    samples: int
    people: int
    classes: int

    def counts(self) -> np.ndarray:
        """(N, C) number of annotators that answered each class."""
        found = np.zeros((self.samples, self.classes))
        np.add.at(found, (self.row, self.answer), 1)
        return found

    def fit(self, prior: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities (N, C) of each class, and the matrices (A, C, C)."""
        counts = self.counts()
        true = (counts + 1 / self.classes) / (counts.sum(1, keepdims=True) + 1)
        logs = None if prior is None else np.log(np.clip(prior, 1e-6, 1))
        matrices = self.matrices(true)
        for _ in range(MAX_STEPS):
            before, likelihood = true, self.log_likelihood(matrices)
            known = np.log(self.frequencies(true)) if logs is None else _rescaled(logs, likelihood)
            true = _normalised(known + likelihood)
            matrices = self.matrices(true)
            if np.abs(true - before).max() < TOLERANCE:
                break
        return true, matrices

    def frequencies(self, true: np.ndarray) -> np.ndarray:
        """(C,) share of each class, regularised towards its share of the answers."""
        given = np.bincount(self.answer, minlength=self.classes) / len(self.answer)
        return np.asarray((true.mean(0) + POOLED_PRIOR * given) / (1 + POOLED_PRIOR))

    def matrices(self, true: np.ndarray) -> np.ndarray:
        """(A, C, C) one matrix per annotator, regularised towards the pooled matrix."""
        counts = np.zeros((self.people, self.classes, self.classes))
        np.add.at(counts.transpose(0, 2, 1), (self.who, self.answer), true[self.row])
        wrong = (1 - PRIOR_ACCURACY) / (self.classes - 1)
        prior = wrong + (PRIOR_ACCURACY - wrong) * np.eye(self.classes)
        pooled = counts.sum(0) + POOLED_PRIOR * len(self.row) / self.classes * prior
        pooled /= pooled.sum(1, keepdims=True)
        own = counts + MATRIX_PRIOR * self._matrix_prior(counts, pooled)
        return np.asarray(own / own.sum(2, keepdims=True))

    def _matrix_prior(self, counts: np.ndarray, pooled: np.ndarray) -> np.ndarray:
        """(A, C, C) prior of each matrix: the accuracy of the annotator, and the errors of all annotators."""
        same = np.arange(self.classes)
        right, total = counts[:, same, same].sum(1), counts.sum((1, 2))
        accuracy = (right + ACCURACY_PRIOR * float(pooled[same, same].mean())) / (total + ACCURACY_PRIOR)
        wrong = pooled.copy()
        wrong[same, same] = 0
        wrong /= wrong.sum(1, keepdims=True)
        found = (1 - accuracy)[:, None, None] * wrong
        found[:, same, same] = accuracy[:, None]
        return np.asarray(found)

    def log_likelihood(self, matrices: np.ndarray) -> np.ndarray:
        """(N, C) log probability of all answers of a sample given each true class."""
        found = np.zeros((self.samples, self.classes))
        np.add.at(found, self.row, np.log(matrices.transpose(0, 2, 1)[self.who, self.answer]))
        return found


def _rescaled(logs: np.ndarray, likelihood: np.ndarray) -> np.ndarray:
    """Log probabilities of a classifier at the temperature of the highest likelihood of the answers."""
    from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]

    rows = slice(None, None, len(logs) // TEMPERATURE_ROWS + 1)
    some, answers = logs[rows], likelihood[rows]

    def objective(log_scale: float) -> float:
        scaled = some * np.exp(log_scale)
        negative_log_likelihood = (_logsumexp(scaled) - _logsumexp(scaled + answers)).mean()
        return float(negative_log_likelihood + TEMPERATURE_PRIOR * log_scale**2)

    scale = np.exp(minimize_scalar(objective, bounds=(-2, 2), method="bounded", options={"xatol": 0.01}).x)
    return np.asarray(logs * scale - _logsumexp(logs * scale)[:, None])


def _logsumexp(logs: np.ndarray) -> np.ndarray:
    highest = logs.max(1)
    return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(1)))


def _normalised(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(logs - _logsumexp(logs)[:, None]))


def _result(
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

    right = true[crowd.row, crowd.answer]
    return DataFrame(
        {
            "index": crowd.row,
            "annotator": np.asarray(people, dtype=object)[crowd.who],
            "given_label": crowd.answer,
            "predicted_label": true.argmax(1)[crowd.row],
            "wrong_probability": 1 - right,
            "is_label_issue": right < 0.5,
        }
    )


def _annotator_table(
    crowd: _Crowd, true: np.ndarray, matrices: np.ndarray, people: list[Any], names: tuple[str, ...]
) -> DataFrame:
    from pandas import DataFrame, Index

    count = np.bincount(crowd.who, minlength=crowd.people)
    diagonal = matrices[:, np.arange(crowd.classes), np.arange(crowd.classes)]
    agrees = crowd.answer == true.argmax(1)[crowd.row]
    wrong = 1 - true[crowd.row, crowd.answer]
    return DataFrame(
        {
            "quality": diagonal @ crowd.frequencies(true),
            "answers": count,
            "agreement": np.bincount(crowd.who, agrees, minlength=crowd.people) / count,
            "worst_class": [names[number] for number in diagonal.argmin(1)],
            "expected_wrong": np.bincount(crowd.who, wrong, minlength=crowd.people),
        },
        index=Index(people, name="annotator"),
    )
