"""An ensemble of models, weighted by their out-of-sample accuracy on the given labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from ..labels.cross_fit import Rounds
from ..labels.cross_fit_models import CROSS_FIT_MODELS, Inputs, ModelKind, out_of_fold
from ..labels.folds import Split
from ..labels.posterior import combine_weighted
from .store import Parts

MIN_SHARE = 0.02
"""Models with a smaller weight are left out."""
ACCURACY_SCALE = 60.0
"""A model whose accuracy on given labels is lower by a has exp(-60 a) times the weight of the best one."""
MIN_LABEL_WEIGHT = 0.01
"""Smallest weight of a row."""
BALANCE = 0.5
"""Probabilities are divided by this power of the class frequencies: models that are fitted to wrong labels
predict frequent classes too often."""
KERNEL_POINTS = 300
"""Number of components of the kernel approximation."""


def _kernel(seed: int, text: bool, rows: int) -> Any:
    return LogisticRegression(C=10.0, max_iter=300)


KERNEL = "kernel"
MEMBERS: Mapping[str, ModelKind] = {
    **CROSS_FIT_MODELS,
    KERNEL: ModelKind(_kernel, "dense", accepts_weights=True),
}
"""The cross-fitted models, and a linear model on Gaussian kernels, whose smooth boundary resists noise."""


class MemberPrediction(NamedTuple):
    """Out-of-sample probabilities of a model, and whether it is fitted with weighted labels."""

    name: str
    probabilities: np.ndarray
    is_weighted: bool


class Ensemble(NamedTuple):
    """Fitted models and their weights."""

    names: tuple[str, ...]
    models: tuple[Any, ...]
    weights: tuple[float, ...]
    class_frequencies: tuple[float, ...]
    """All equal for a model of the user, whose probabilities stay as they are."""

    def __str__(self) -> str:
        parts = zip(self.names, self.weights, strict=True)
        return " + ".join(f"{weight:.2f} {name}" for name, weight in parts)

    @classmethod
    def of(cls, model: Any, classes: int) -> Ensemble:
        """An ensemble of one model of the user, which reads the inputs of linear models."""
        return cls(("linear",), (model,), (1.0,), (1 / classes,) * classes)

    @classmethod
    def fit(
        cls,
        members: Sequence[MemberPrediction],
        inputs: Inputs,
        label: np.ndarray,
        sample_weight: np.ndarray | None,
        label_weight: np.ndarray,
        classes: int,
        seed: int,
    ) -> Ensemble:
        """Fit each member to all rows, with ``sample_weight``, and ``label_weight`` for weighted members."""
        share = shares([one.probabilities for one in members], label)
        chosen = [number for number in np.argsort(-share) if share[number] >= MIN_SHARE]
        models = []
        for number in chosen:
            weight = label_weight if members[number].is_weighted else np.ones(len(label))
            weight = weight if sample_weight is None else weight * sample_weight
            models.append(_fitted(members[number].name, inputs, label, weight, seed))
        weights = share[chosen] / share[chosen].sum()
        names = tuple(members[number].name for number in chosen)
        frequencies = np.bincount(label, weights=sample_weight, minlength=classes)
        frequencies = np.maximum(frequencies / frequencies.sum(), 1 / len(label))
        return cls(names, tuple(models), tuple(map(float, weights)), tuple(map(float, frequencies)))

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """Weighted geometric mean of the probabilities, raised for rare classes."""
        predictions, classes = [], len(self.class_frequencies)
        for name, model in zip(self.names, self.models, strict=True):
            rows = getattr(inputs, MEMBERS[name].reads)
            table = np.zeros((rows.shape[0], classes))
            table[:, np.asarray(model.classes_)] = model.predict_proba(rows)
            predictions.append(table)
        raised = combine_weighted(predictions, np.asarray(self.weights))
        raised = raised / np.asarray(self.class_frequencies) ** BALANCE
        return np.asarray(raised / raised.sum(1, keepdims=True))

    def to_parts(self, parts: Parts) -> None:
        parts.put_models("models.skops", [_without_search_tree(model) for model in self.models])
        parts.facts["ensemble"] = {
            "names": self.names,
            "weights": self.weights,
            "class_frequencies": self.class_frequencies,
        }

    @classmethod
    def from_parts(cls, parts: Parts) -> Ensemble:
        facts, models = parts.facts["ensemble"], map(_with_search_tree, parts.models("models.skops"))
        # Version 0.2.0 stored the number of classes only.
        frequencies = facts.get("class_frequencies") or [1.0] * int(facts["classes"])
        numbers = (tuple(map(float, values)) for values in (facts["weights"], frequencies))
        new = cls(tuple(facts["names"]), tuple(models), *numbers)
        if not len(new.names) == len(new.models) == len(new.weights) or not set(new.names) <= set(MEMBERS):
            raise ValueError("its models are not those of a NoiseproofClassifier")
        return new


def member_predictions(
    names: Sequence[str],
    rounds: Rounds,
    inputs: Inputs,
    label: np.ndarray,
    splits: Sequence[Split],
    classes: int,
    seed: int,
) -> list[MemberPrediction]:
    """Predictions of each model in the round of higher accuracy, and of the kernel if there are several."""
    weighted = [name for name in names if CROSS_FIT_MODELS[name].accepts_weights]
    second = dict(zip(weighted, rounds.second, strict=False))
    members = [
        _more_accurate(name, first, second.get(name), label)
        for name, first in zip(names, rounds.first, strict=True)
    ]
    if len(names) > 1:
        rows = kernel_approximation(inputs.dense, seed).transform(inputs.dense)
        plain, weighted_fit = (
            out_of_fold(partial(_kernel, seed, False), rows, label, classes, splits, weight)
            for weight in (None, label_weights(rounds))
        )
        members.append(_more_accurate(KERNEL, plain, weighted_fit, label))
    return members


def _more_accurate(
    name: str, first: np.ndarray, second: np.ndarray | None, label: np.ndarray
) -> MemberPrediction:
    is_weighted = second is not None and agreement([second], label) >= agreement([first], label)
    return MemberPrediction(name, second if second is not None and is_weighted else first, is_weighted)


def label_weights(rounds: Rounds) -> np.ndarray:
    """(N,) weights of the rows: the probabilities that their labels are right, at least MIN_LABEL_WEIGHT."""
    return np.asarray(np.clip(1 - rounds.judged.wrong, MIN_LABEL_WEIGHT, 1))


def agreement(predictions: Sequence[np.ndarray], label: np.ndarray) -> float:
    """Accuracy of the combined predictions on the given labels."""
    combined = predictions[0]
    if len(predictions) > 1:
        combined = combine_weighted(predictions, shares(predictions, label))
    return float((combined.argmax(1) == label).mean())


def shares(predictions: Sequence[np.ndarray], label: np.ndarray) -> np.ndarray:
    """Weights of the models, which sum to 1."""
    accuracy = np.array([(one.argmax(1) == label).mean() for one in predictions])
    weight = np.exp(ACCURACY_SCALE * (accuracy - accuracy.max()))
    return np.asarray(weight / weight.sum())


def kernel_approximation(rows: np.ndarray, seed: int) -> Nystroem:
    """A Gaussian kernel approximation; rows at the root mean squared distance have the similarity 1/e."""
    spread = float(rows.var(0).sum())
    return Nystroem(
        gamma=1 / (2 * spread) if spread > 0 else None,
        n_components=min(KERNEL_POINTS, len(rows)),
        random_state=seed,
    ).fit(rows)


def _fitted(name: str, inputs: Inputs, label: np.ndarray, weight: np.ndarray, seed: int) -> Any:
    kind = MEMBERS[name]
    model = kind.make(seed, hasattr(inputs.linear, "tocsr"), len(label))
    rows = getattr(inputs, kind.reads)
    options = {"sample_weight": weight} if kind.accepts_weights else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end before they converge
        if name == KERNEL:
            kernel = kernel_approximation(rows, seed)
            return make_pipeline(kernel, model.fit(kernel.transform(rows), label, **options))
        return model.fit(rows, label, **options)


def _without_search_tree(model: Any) -> Any:
    """Nearest neighbours as rows and labels, since skops does not store the search tree."""
    if not isinstance(model, KNeighborsClassifier):
        return model
    return {"neighbours": clone(model), "rows": model._fit_X, "label": model.classes_[model._y]}


def _with_search_tree(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    return stored["neighbours"].fit(stored["rows"], stored["label"])
