"""Judge the labels of a table, of texts or of arrays by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from ..data import LabelledData
from ..data.duplicates import first_occurrences
from ..engines import other_engine
from ..features import Features
from .findings import Judgement
from .folds import Split, split
from .judge import judge
from .posterior import posterior
from .witnesses import WITNESSES, Inputs, cross_fit, out_of_fold

OnFit = Callable[[str, int], None]
Ask = Callable[[np.ndarray | None], list[np.ndarray]]
"""From sample weights to the out-of-sample probabilities of each model."""
Fit = Callable[[Sequence[Split], OnFit], list[np.ndarray]]
"""From splits to the probabilities of each model, 0 in the rows that no split predicts."""
LEAST_TRUST = 1e-3
"""Smallest sample weight in the second round."""


def judge_by_cross_fitting(
    rows: Any,
    label: np.ndarray,
    classes: int,
    *,
    folds: int,
    model: object,
    groups: Sequence[object] | np.ndarray | None,
    seed: int,
    on_fit: OnFit,
    engine: str = "local",
) -> Judgement:
    """Cross-fit models to the rows and judge each label by what they predict for it."""
    if isinstance(model, str) and model not in WITNESSES:
        return _by_networks(rows, label, classes, folds, model, groups, seed, on_fit, engine)
    inputs = inputs_of(Features(random_state=seed).fit(rows), rows, model)
    splits = split(label, folds, rows=inputs.linear, groups=groups, seed=seed)

    def ask(weight: np.ndarray | None) -> list[np.ndarray]:
        def fit(some: Sequence[Split], on_fit: OnFit) -> list[np.ndarray]:
            return asker(model, inputs, label, classes, some, seed, on_fit)(weight)

        return fit_on(engine, fit, splits, model, on_fit)

    with nullcontext() if (other := other_engine(engine)) is None else other.cluster():
        return two_rounds(ask, label).judged


def fit_on(
    engine: str, fit: Fit, splits: Sequence[Split], model: object, on_fit: OnFit, device: str = "cpu"
) -> list[np.ndarray]:
    """What ``fit`` gives for all splits: fitted here, or one split in each task of another engine."""
    other = other_engine(engine)
    if other is None:
        return fit(splits, on_fit)

    def fit_part(one: Split) -> list[np.ndarray]:
        return [table[one[1]] for table in fit([one], lambda name, fold: None)]

    name = model if isinstance(model, str) else "models"
    parts = other.fit_parts(fit_part, splits, partial(on_fit, name), device)
    order = np.argsort(np.concatenate([predicted for _, predicted in splits]))
    return [np.concatenate(tables)[order] for tables in zip(*parts, strict=True)]


class Rounds(NamedTuple):
    """Out-of-sample probabilities of each model, and the judgement that follows from them."""

    first: list[np.ndarray]
    second: list[np.ndarray]
    """Of models that accept sample weights, fitted again; empty if none does."""
    judged: Judgement


def two_rounds(ask: Ask, label: np.ndarray) -> Rounds:
    """Fit all rows alike, then weighted by the probability that their labels are right; judge both rounds."""
    first = ask(None)
    said = posterior(first, label)
    second = ask(np.clip(said.true[np.arange(len(label)), label], LEAST_TRUST, 1))
    rounds = [said, posterior(second, label)] if second else [said]
    return Rounds(first, second, judge(rounds, label))


def inputs_of(features: Features, rows: Any, model: object = None) -> Inputs:
    """The rows as every kind of model reads them, by features that are fitted; ``model``: the user's own."""
    dense, sparse = features.transform(rows), features.sparse(rows)
    return Inputs(dense, dense if sparse is None or not _reads_sparse(model) else sparse.tocsr())


def _reads_sparse(model: object) -> bool:
    """False for an estimator of scikit-learn that declares that it does not."""
    from sklearn.utils import get_tags

    return not hasattr(model, "__sklearn_tags__") or bool(get_tags(model).input_tags.sparse)


def asker(
    model: object,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    seed: int,
    on_fit: OnFit,
) -> Ask:
    """A function from weights of the rows to the probabilities of all witnesses that can use them."""
    if model is None or isinstance(model, (str, list, tuple)):
        names = tuple(WITNESSES) if model is None else _names(model)

        def by_name(weight: np.ndarray | None) -> list[np.ndarray]:
            found = cross_fit(
                inputs, label, classes, splits, names=names, weight=weight, seed=seed, on_fit=on_fit
            )
            return list(found.values())

        return by_name
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise TypeError(
            f"model={model!r} has no fit and predict_proba: give a scikit-learn classifier, the name of a"
            f" network, or one of {', '.join(WITNESSES)}"
        )

    return partial(_ask_estimator, model, inputs, label, classes, splits, on_fit)


def _ask_estimator(
    model: Any,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    on_fit: OnFit,
    weight: np.ndarray | None,
) -> list[np.ndarray]:
    from sklearn.base import clone

    if weight is not None and "sample_weight" not in signature(model.fit).parameters:
        return []
    heard = partial(on_fit, type(model).__name__)
    return [out_of_fold(lambda rows: clone(model), inputs.linear, label, classes, splits, weight, heard)]


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
    on_fit: OnFit,
    engine: str,
) -> Judgement:
    from .networks import network_probabilities

    data = (
        rows
        if isinstance(rows, LabelledData)
        else LabelledData(Features(random_state=seed).fit_transform(rows), label)
    )
    splits = split(label, folds, rows=first_occurrences(data.inputs), groups=groups, seed=seed)

    def fit(some: Sequence[Split], on_fit: OnFit) -> list[np.ndarray]:
        return [network_probabilities(data, model, some, seed=seed, on_fit=on_fit)]

    return judge([posterior(fit_on(engine, fit, splits, model, on_fit, "auto"), label)], label)
