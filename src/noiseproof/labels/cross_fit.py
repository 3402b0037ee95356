"""Judge the labels of a table, of texts or of arrays: models predict every label without having seen it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ..data import LabelledData
from ..features import Features
from .findings import Judgement
from .folds import Split, split
from .judge import wrong_probability
from .posterior import Posterior, posterior
from .witnesses import WITNESSES, Inputs, cross_fit, out_of_fold

Told = Callable[[str, int], None]


def judge_by_cross_fitting(
    rows: Any,
    label: np.ndarray,
    classes: int,
    *,
    folds: int,
    model: object,
    groups: Sequence[object] | np.ndarray | None,
    seed: int,
    told: Told,
) -> Judgement:
    """Two rounds: in the second, every row counts as much as its label was trusted after the first."""
    if isinstance(model, str) and model not in WITNESSES:
        return _by_networks(rows, label, classes, folds, model, groups, seed, told)
    inputs = inputs_of(rows, seed)
    splits = split(label, folds, rows=inputs.linear, groups=groups, seed=seed)
    ask = asker(model, inputs, label, classes, splits, seed, told)
    first = posterior(ask(None), label)
    trust = first.true[np.arange(len(label)), label]
    second = ask(np.clip(trust, 1e-3, 1))
    rounds = [first, posterior(second, label)] if second else [first]
    kind = "cross_fit" if second else "probabilities"
    return Judgement(label, wrong_probability(kind, rounds, label), rounds[-1].true)


def inputs_of(rows: Any, seed: int = 0) -> Inputs:
    """Numbers for every kind of model, of data as users have them."""
    if isinstance(rows, Inputs):
        return rows
    features = Features(random_state=seed)
    dense = features.fit_transform(rows)
    sparse = features.sparse(rows)
    return Inputs(dense, dense if sparse is None else sparse.tocsr())


def asker(
    model: object,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    seed: int,
    told: Told,
) -> Callable[[np.ndarray | None], list[np.ndarray]]:
    """A function from weights of the rows to the probabilities of all witnesses that can use them."""
    if model is None or isinstance(model, (str, list, tuple)):
        names = tuple(WITNESSES) if model is None else _names(model)

        def by_name(weight: np.ndarray | None) -> list[np.ndarray]:
            found = cross_fit(
                inputs, label, classes, splits, names=names, weight=weight, seed=seed, told=told
            )
            return list(found.values())

        return by_name
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise TypeError(
            f"model={model!r} has no fit and predict_proba: give a scikit-learn classifier, the name of a"
            f" network, or one of {', '.join(WITNESSES)}"
        )

    return partial(_ask_estimator, model, inputs, label, classes, splits, told)


def _ask_estimator(
    model: Any,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    told: Told,
    weight: np.ndarray | None,
) -> list[np.ndarray]:
    from sklearn.base import clone

    if weight is not None and "sample_weight" not in signature(model.fit).parameters:
        return []
    heard = partial(told, type(model).__name__)
    return [out_of_fold(lambda: clone(model), inputs.linear, label, classes, splits, weight, heard)]


def _names(model: str | Sequence[Any]) -> tuple[str, ...]:
    names = (model,) if isinstance(model, str) else tuple(model)
    for name in names:
        if name not in WITNESSES:
            raise ValueError(f"model {name!r} is unknown, choose among {', '.join(WITNESSES)}")
    return names


def _by_networks(
    rows: Any,
    label: np.ndarray,
    classes: int,
    folds: int,
    model: str,
    groups: Sequence[object] | np.ndarray | None,
    seed: int,
    told: Told,
) -> Judgement:
    from .networks import network_probabilities

    data = rows if isinstance(rows, LabelledData) else LabelledData(inputs_of(rows, seed).dense, label)
    splits = split(label, folds, rows=np.asarray(data.inputs), groups=groups, seed=seed)
    found: Posterior = posterior([network_probabilities(data, model, splits, seed=seed, told=told)], label)
    return Judgement(label, wrong_probability("probabilities", [found], label), found.true)
