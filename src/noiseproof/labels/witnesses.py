"""Witnesses: models that predict every label without having seen it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .folds import Split


class Inputs(NamedTuple):
    """The same rows as several kinds of models want them."""

    dense: np.ndarray
    """(N, d), scaled."""
    linear: Any
    """For linear models: sparse where the data are text, otherwise ``dense``."""
    trees: np.ndarray
    """For trees: missing values may be NaN where the trees accept them."""


class Witness(NamedTuple):
    """A kind of classifier, which of the inputs it reads, and whether it takes sample weights."""

    make: Callable[[int, bool], Any]
    reads: str
    weighs: bool


def _linear(seed: int, text: bool) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=5.0 if text else 1.0, max_iter=300)


def _trees(seed: int, text: bool) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(100, min_samples_leaf=2, random_state=seed)


def _network(seed: int, text: bool) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), max_iter=60, random_state=seed)


def _neighbours(seed: int, text: bool) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(10)


WITNESSES: Mapping[str, Witness] = {
    "linear": Witness(_linear, "linear", weighs=True),
    "trees": Witness(_trees, "trees", weighs=True),
    "network": Witness(_network, "dense", weighs=False),
    "neighbours": Witness(_neighbours, "dense", weighs=False),
}


def cross_fit(
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    *,
    names: Sequence[str] = tuple(WITNESSES),
    weight: np.ndarray | None = None,
    seed: int = 0,
    told: Callable[[str, int], None] = lambda name, fold: None,
) -> dict[str, np.ndarray]:
    """(N, C) probabilities by each witness, fitted on the other folds.

    Args:
        inputs: the rows.
        label: class numbers.
        classes: number of classes; a class that a fold lacks gets probability 0 there.
        splits: as ``split`` makes them.
        names: of the witnesses.
        weight: of the rows; only witnesses that take weights are asked then.
        seed: of the models.
        told: is called before each fit.
    """
    text = hasattr(inputs.linear, "tocsr")
    found = {}
    for name in names:
        witness = WITNESSES[name]
        if weight is not None and not witness.weighs:
            continue
        rows = getattr(inputs, witness.reads)

        def make(witness: Witness = witness) -> Any:
            return witness.make(seed, text)

        found[name] = out_of_fold(make, rows, label, classes, splits, weight, lambda k, n=name: told(n, k))
    return found


def out_of_fold(
    make: Callable[[], Any],
    rows: Any,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    weight: np.ndarray | None = None,
    told: Callable[[int], None] = lambda fold: None,
) -> np.ndarray:
    """(N, C) probabilities of any scikit-learn classifier, fitted anew for each fold."""
    found = np.zeros((len(label), classes))
    for number, (fit, predict) in enumerate(splits):
        told(number)
        weights = {} if weight is None else {"sample_weight": weight[fit]}
        seen = np.unique(label[fit])
        if len(seen) == 1:
            found[predict, seen[0]] = 1.0
            continue
        model = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that end before they converge
            model.fit(rows[fit], label[fit], **weights)
        found[np.ix_(predict, np.asarray(model.classes_))] = model.predict_proba(rows[predict])
    return found
