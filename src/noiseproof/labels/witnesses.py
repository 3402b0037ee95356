"""Witnesses: models that predict every label without having seen it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .folds import Split


class Inputs(NamedTuple):
    """The same rows in the form each kind of model reads."""

    dense: np.ndarray
    """(N, d), scaled."""
    linear: Any
    """For linear models: sparse where the data are text, otherwise ``dense``."""


class Witness(NamedTuple):
    """A kind of classifier, which of the inputs it reads, and whether it takes sample weights."""

    make: Callable[[int, bool, int], Any]
    """From seed, whether rows are text, and how many rows there are to fit."""
    reads: str
    weighs: bool


def _linear(seed: int, text: bool, rows: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=5.0 if text else 1.0, max_iter=300)


def _trees(seed: int, text: bool, rows: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(100, min_samples_leaf=2, random_state=seed)


def _network(seed: int, text: bool, rows: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), max_iter=60, random_state=seed)


def _neighbours(seed: int, text: bool, rows: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(min(10, rows))


WITNESSES: Mapping[str, Witness] = {
    "linear": Witness(_linear, "linear", weighs=True),
    "trees": Witness(_trees, "dense", weighs=True),
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
    on_fit: Callable[[str, int], None] = lambda name, fold: None,
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
        on_fit: is called before each fit.
    """
    text = hasattr(inputs.linear, "tocsr")
    found = {}
    for name in names:
        witness = WITNESSES[name]
        if weight is not None and not witness.weighs:
            continue
        make, heard = partial(witness.make, seed, text), partial(on_fit, name)
        rows = getattr(inputs, witness.reads)
        found[name] = out_of_fold(make, rows, label, classes, splits, weight, heard)
    return found


def out_of_fold(
    make: Callable[[int], Any],
    rows: Any,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    weight: np.ndarray | None = None,
    on_fit: Callable[[int], None] = lambda fold: None,
) -> np.ndarray:
    """(N, C) probabilities of any scikit-learn classifier, made from the number of rows and fitted anew."""
    found = np.zeros((len(label), classes), dtype=np.float32)
    for number, (fit, predict) in enumerate(splits):
        on_fit(number)
        weights = {} if weight is None else {"sample_weight": weight[fit]}
        seen = np.unique(label[fit])
        if len(seen) == 1:
            found[predict, seen[0]] = 1.0
            continue
        model = make(len(fit))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that end before they converge
            model.fit(rows[fit], label[fit], **weights)
        found[np.ix_(predict, np.asarray(model.classes_))] = model.predict_proba(rows[predict])
    return found
