"""An ensemble of models, weighted by their out-of-sample accuracy on the given labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from ..labels.cross_fit import Rounds
from ..labels.cross_fit_models import CROSS_FIT_MODELS, Inputs, fitted
from ..labels.posterior import combine_weighted
from .store import Parts

MIN_SHARE = 0.02
"""Models with a smaller weight are left out."""
ACCURACY_SCALE = 60.0
"""A model whose accuracy on given labels is lower by a has exp(-60 a) times the weight of the best one."""
MIN_LABEL_WEIGHT = 0.01
"""Smallest weight of a row."""
FREQUENCY_EXPONENT = 0.5
"""Probabilities are divided by this power of the class frequencies: models that are fitted to wrong labels
predict frequent classes too often."""


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
            rows = getattr(inputs, CROSS_FIT_MODELS[name].reads) if inputs.raw is None else inputs.raw
            table = np.zeros((rows.shape[0], classes))
            table[:, np.asarray(model.classes_)] = model.predict_proba(rows)
            predictions.append(table)
        raised = combine_weighted(predictions, np.asarray(self.weights))
        raised = raised / np.asarray(self.class_frequencies) ** FREQUENCY_EXPONENT
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
        lengths = {len(new.names), len(new.models), len(new.weights)}
        if len(lengths) > 1 or not set(new.names) <= set(CROSS_FIT_MODELS):
            raise ValueError("its models are not those of a NoiseproofClassifier")
        return new


def member_predictions(names: Sequence[str], rounds: Rounds, label: np.ndarray) -> list[MemberPrediction]:
    """Predictions of each model in the round of higher accuracy."""
    weighted = [name for name in names if CROSS_FIT_MODELS[name].accepts_weights]
    second = dict(zip(weighted, rounds.second, strict=False))
    return [
        _more_accurate(name, first, second.get(name), label)
        for name, first in zip(names, rounds.first, strict=True)
    ]


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


def _fitted(name: str, inputs: Inputs, label: np.ndarray, weight: np.ndarray, seed: int) -> Any:
    kind = CROSS_FIT_MODELS[name]
    rows = getattr(inputs, kind.reads)
    model = kind.make(seed, hasattr(inputs.linear, "tocsr"), rows)
    return fitted(model, rows, label, weight if kind.accepts_weights else None)


def _without_search_tree(model: Any) -> Any:
    """Nearest neighbours as rows and labels, since skops does not store the search tree."""
    if not isinstance(model, KNeighborsClassifier):
        return model
    return {"neighbours": clone(model), "rows": model._fit_X, "label": model.classes_[model._y]}


def _with_search_tree(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    return stored["neighbours"].fit(stored["rows"], stored["label"])
