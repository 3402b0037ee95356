"""The models that are cross-fitted to predict every label out of sample."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .folds import Split

KERNEL_POINTS = 300
"""Number of components of the kernel approximation."""
MANY_ROWS = 5000
"""With more rows, ``lbfgs`` needs hundreds of passes over the kernels, ``newton-cg`` a third of the time."""


class Inputs(NamedTuple):
    """The rows in the form that each kind of model reads."""

    dense: np.ndarray
    """(N, d), scaled."""
    linear: Any
    """For linear models: sparse where the data are text, otherwise ``dense``."""
    raw: Any = None
    """The rows as they were given, if an estimator of the user encodes them itself, see ``reads_rows``."""

    @property
    def for_estimator(self) -> Any:
        """The rows that an estimator of the user reads."""
        return self.linear if self.raw is None else self.raw


class ModelKind(NamedTuple):
    """A kind of classifier, which field of ``Inputs`` it reads, and whether it accepts sample weights."""

    make: Callable[[int, bool, Any], Any]
    """Called with the seed, whether the data are text, and the rows to fit."""
    reads: str
    accepts_weights: bool


def _linear(seed: int, text: bool, rows: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=5.0 if text else 1.0, max_iter=300)


def _trees(seed: int, text: bool, rows: Any) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(100, min_samples_leaf=2, random_state=seed)


def _network(seed: int, text: bool, rows: Any) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), max_iter=60, random_state=seed)


def _neighbours(seed: int, text: bool, rows: Any) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(min(10, rows.shape[0]))


def _kernel(seed: int, text: bool, rows: Any) -> Any:
    """A linear model on Gaussian kernels; rows at the root mean squared distance have the similarity 1/e."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    spread = float(rows.var(0).sum())
    gamma = 1 / (2 * spread) if spread > 0 else None
    kernels = Nystroem(gamma=gamma, n_components=min(KERNEL_POINTS, rows.shape[0]), random_state=seed)
    solver = "newton-cg" if rows.shape[0] > MANY_ROWS else "lbfgs"
    return make_pipeline(kernels, LogisticRegression(C=10.0, max_iter=300, solver=solver))


CROSS_FIT_MODELS: Mapping[str, ModelKind] = {
    "linear": ModelKind(_linear, "linear", accepts_weights=True),
    "trees": ModelKind(_trees, "dense", accepts_weights=True),
    "network": ModelKind(_network, "dense", accepts_weights=False),
    "neighbours": ModelKind(_neighbours, "dense", accepts_weights=False),
    "kernel": ModelKind(_kernel, "dense", accepts_weights=True),
}
"""The boundary of "kernel" is smooth, so that wrong labels change it little."""


def cross_fit(
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    *,
    names: Sequence[str] = tuple(CROSS_FIT_MODELS),
    weight: np.ndarray | None = None,
    seed: int = 0,
    on_fit: Callable[[str, int], None] = lambda name, fold: None,
) -> dict[str, np.ndarray]:
    """(N, C) out-of-fold probabilities of each model.

    Args:
        inputs: the rows.
        label: class numbers.
        classes: number of classes; a class that a fold lacks gets probability 0 there.
        splits: the folds, see ``split``.
        names: of the models.
        weight: of the rows; if given, only models that accept sample weights are fitted.
        seed: of the models.
        on_fit: called before each fit.
    """
    text = hasattr(inputs.linear, "tocsr")
    found = {}
    for name in names:
        kind = CROSS_FIT_MODELS[name]
        if weight is not None and not kind.accepts_weights:
            continue
        make, on_fold = partial(kind.make, seed, text), partial(on_fit, name)
        rows = getattr(inputs, kind.reads)
        found[name] = out_of_fold(make, rows, label, classes, splits, weight, on_fold)
    return found


def out_of_fold(
    make: Callable[[Any], Any],
    rows: Any,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    weight: np.ndarray | None = None,
    on_fit: Callable[[int], None] = lambda fold: None,
) -> np.ndarray:
    """(N, C) out-of-fold probabilities of scikit-learn models that ``make`` creates for the rows to fit."""
    found = np.zeros((len(label), classes), dtype=np.float32)
    for number, (fit, predict) in enumerate(splits):
        on_fit(number)
        seen = np.unique(label[fit])
        if len(seen) == 1:
            found[predict, seen[0]] = 1.0
            continue
        part = take(rows, fit)
        model = fitted(make(part), part, label[fit], None if weight is None else weight[fit])
        found[np.ix_(predict, np.asarray(model.classes_))] = model.predict_proba(take(rows, predict))
    return found


def take(rows: Any, which: np.ndarray) -> Any:
    """The chosen rows of an array, a sparse matrix or a DataFrame; ``which`` are positions or a mask."""
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def fitted(model: Any, rows: Any, label: np.ndarray, weight: np.ndarray | None) -> Any:
    """The model after ``fit`` with these sample weights, which go to the last step of a pipeline."""
    from sklearn.pipeline import Pipeline

    name = "sample_weight"
    if isinstance(model, Pipeline):
        name = f"{model.steps[-1][0]}__sample_weight"
        if getattr(rows, "dtype", None) == np.float32:  # inaccurate for the root of a kernel matrix
            rows = rows.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end before they converge
        return model.fit(rows, label, **({} if weight is None else {name: weight}))
