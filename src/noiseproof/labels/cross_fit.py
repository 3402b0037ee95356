"""Judge labels by cross-fitting: each label is predicted by models that were not fitted to its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from ..data import LabelledData
from ..data.duplicates import first_occurrences
from ..engines import engine_module
from ..features import Features
from ..grammar import unknown
from ..models import MODELS
from ..models.spec import parse
from .calibrator import judge
from .cross_fit_models import CROSS_FIT_MODELS, Inputs, cross_fit, out_of_fold
from .estimator_rows import HINT, given_rows, reads_rows
from .findings import Judgement
from .folds import Split, split
from .posterior import posterior

OnFit = Callable[[str, int], None]
CrossFitter = Callable[[np.ndarray | None], list[np.ndarray]]
"""A function from sample weights to the out-of-sample probabilities of each model."""
Fit = Callable[[Sequence[Split], OnFit], list[np.ndarray]]
"""From splits to the probabilities of each model, 0 in the rows that no split predicts."""
MIN_WEIGHT = 1e-3
"""Minimum sample weight in the second round."""


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
    if isinstance(model, str) and model not in CROSS_FIT_MODELS:
        if parse(model)[0] not in MODELS and ":" not in model:
            raise ValueError(unknown("model", model, [*CROSS_FIT_MODELS, *MODELS]))
        return _by_networks(rows, label, classes, folds, model, groups, seed, on_fit, engine)
    features = Features(random_state=seed, drop_ids=not reads_rows(model)).fit(rows)
    features.warn_of_unreadable(rows)
    inputs = inputs_of(features, rows, model)
    splits = split(label, folds, rows=inputs.linear, groups=groups, seed=seed)

    def fit_weighted(weight: np.ndarray | None) -> list[np.ndarray]:
        def fit(some: Sequence[Split], on_fit: OnFit) -> list[np.ndarray]:
            return cross_fitter(model, inputs, label, classes, some, seed, on_fit)(weight)

        return fit_on(engine, fit, splits, model, on_fit)

    with nullcontext() if (other := engine_module(engine)) is None else other.cluster():
        return two_rounds(fit_weighted, label).judged


def fit_on(
    engine: str, fit: Fit, splits: Sequence[Split], model: object, on_fit: OnFit, device: str = "cpu"
) -> list[np.ndarray]:
    """The result of ``fit`` for all splits, in this process or, with another engine, one task per split."""
    other = engine_module(engine)
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


def two_rounds(fit: CrossFitter, label: np.ndarray) -> Rounds:
    """Cross-fit twice: with equal weights, then weighted by the probability that each label is right."""
    first = fit(None)
    estimate = posterior(first, label)
    second = fit(np.clip(estimate.true[np.arange(len(label)), label], MIN_WEIGHT, 1))
    rounds = [estimate, posterior(second, label)] if second else [estimate]
    return Rounds(first, second, judge(rounds, label))


def inputs_of(features: Features, rows: Any, model: object = None) -> Inputs:
    """The rows in the form that each kind of model reads; ``model`` is an estimator of the user, if any."""
    dense, sparse = features.transform(rows), features.sparse(rows)
    linear = dense if sparse is None or not _reads_sparse(model) else sparse.tocsr()
    return Inputs(
        dense, linear, given_rows(rows, model, text=features.kind == "text") if reads_rows(model) else None
    )


def _reads_sparse(model: object) -> bool:
    """Whether an estimator accepts sparse input, by its scikit-learn tags."""
    from sklearn.utils import get_tags

    return not hasattr(model, "__sklearn_tags__") or bool(get_tags(model).input_tags.sparse)


def cross_fitter(
    model: object,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    seed: int,
    on_fit: OnFit,
) -> CrossFitter:
    """A function that cross-fits ``model`` (one or several) with given sample weights."""
    if model is None or isinstance(model, (str, list, tuple)):
        names = tuple(CROSS_FIT_MODELS) if model is None else _names(model)

        def by_name(weight: np.ndarray | None) -> list[np.ndarray]:
            found = cross_fit(
                inputs, label, classes, splits, names=names, weight=weight, seed=seed, on_fit=on_fit
            )
            return list(found.values())

        return by_name
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise TypeError(
            f"model={model!r} has no fit and predict_proba: give a scikit-learn classifier, the name of a"
            f" network, or one of {', '.join(CROSS_FIT_MODELS)}"
        )

    return partial(_cross_fit_estimator, model, inputs, label, classes, splits, on_fit)


def _cross_fit_estimator(
    model: Any,
    inputs: Inputs,
    label: np.ndarray,
    classes: int,
    splits: Sequence[Split],
    on_fit: OnFit,
    weight: np.ndarray | None,
) -> list[np.ndarray]:
    from sklearn.base import clone
    from sklearn.utils._param_validation import InvalidParameterError

    if weight is not None and "sample_weight" not in signature(model.fit).parameters:
        return []
    name, rows = type(model).__name__, inputs.for_estimator
    try:
        on_fold = partial(on_fit, name)
        return [out_of_fold(lambda part: clone(model), rows, label, classes, splits, weight, on_fold)]
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        if inputs.raw is not None or isinstance(problem, InvalidParameterError):
            raise
        reason = str(problem).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"{name} failed on the encoded rows, {rows.shape[1]} numbers per row: {reason}; {HINT}"
        ) from problem


def _names(model: str | Sequence[Any]) -> tuple[str, ...]:
    names = (model,) if isinstance(model, str) else tuple(model)
    if not names:
        raise ValueError(f"model={model!r} names no model: choose among {', '.join(CROSS_FIT_MODELS)}")
    for name in names:
        if name not in CROSS_FIT_MODELS:
            raise ValueError(f"model {name!r} is unknown, choose among {', '.join(CROSS_FIT_MODELS)}")
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
    from .networks import as_inputs, network_probabilities

    if isinstance(rows, LabelledData):
        data = rows
    else:
        features = Features(random_state=seed)
        dense = features.fit_transform(rows)
        data = LabelledData(as_inputs(dense, features.sample_shape), label)
    splits = split(label, folds, rows=first_occurrences(data.inputs), groups=groups, seed=seed)

    def fit(some: Sequence[Split], on_fit: OnFit) -> list[np.ndarray]:
        return [network_probabilities(data, model, some, seed=seed, on_fit=on_fit)]

    return judge([posterior(fit_on(engine, fit, splits, model, on_fit, "auto"), label)], label)
