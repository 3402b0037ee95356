"""Several models that predict together, weighted by their accuracy on rows they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from ..labels.posterior import combine_weighted, weights_of
from ..labels.witnesses import WITNESSES, Inputs
from .store import Parts

LEAST_SHARE = 0.02
"""Models with a smaller weight are left out."""


class Ensemble(NamedTuple):
    """Fitted models, which inputs each reads, and their weights."""

    names: tuple[str, ...]
    models: tuple[Any, ...]
    weights: tuple[float, ...]
    classes: int

    def __str__(self) -> str:
        parts = zip(self.names, self.weights, strict=True)
        return " + ".join(f"{weight:.2f} {name}" for name, weight in parts)

    @classmethod
    def of(cls, model: Any, classes: int) -> Ensemble:
        """One model of the user, which reads what linear models read."""
        return cls(("linear",), (model,), (1.0,), classes)

    @classmethod
    def fit(
        cls,
        names: Sequence[str],
        inputs: Inputs,
        label: np.ndarray,
        weight: np.ndarray,
        said: Sequence[np.ndarray],
        classes: int,
        seed: int,
    ) -> Ensemble:
        """Fit each witness to all rows; ``said`` are their out-of-sample probabilities."""
        share = weights_of(said, label)
        chosen = [number for number in np.argsort(-share) if share[number] >= LEAST_SHARE]
        models = []
        for number in chosen:
            witness = WITNESSES[names[number]]
            model = witness.make(seed, hasattr(inputs.linear, "tocsr"), len(label))
            options = {"sample_weight": weight} if witness.weighs else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits that end before they converge
                models.append(model.fit(getattr(inputs, witness.reads), label, **options))
        weights = share[chosen] / share[chosen].sum()
        return cls(
            tuple(names[number] for number in chosen), tuple(models), tuple(map(float, weights)), classes
        )

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """Weighted geometric mean of the probabilities."""
        said = []
        for name, model in zip(self.names, self.models, strict=True):
            rows = getattr(inputs, WITNESSES[name].reads)
            table = np.zeros((rows.shape[0], self.classes))
            table[:, np.asarray(model.classes_)] = model.predict_proba(rows)
            said.append(table)
        return combine_weighted(said, np.asarray(self.weights))

    def put(self, parts: Parts) -> None:
        parts.put_models("models.skops", [_without_index(model) for model in self.models])
        parts.facts["ensemble"] = {"names": self.names, "weights": self.weights, "classes": self.classes}

    @classmethod
    def get(cls, parts: Parts) -> Ensemble:
        facts, models = parts.facts["ensemble"], map(_indexed, parts.models("models.skops"))
        new = cls(
            tuple(facts["names"]), tuple(models), tuple(map(float, facts["weights"])), int(facts["classes"])
        )
        if not len(new.names) == len(new.models) == len(new.weights) or not set(new.names) <= set(WITNESSES):
            raise ValueError("its models are not those of a classifier")
        return new


def _without_index(model: Any) -> Any:
    """Neighbours without the tree that finds them, which skops does not store: it is built again."""
    if not isinstance(model, KNeighborsClassifier):
        return model
    return {"neighbours": clone(model), "rows": model._fit_X, "label": model.classes_[model._y]}


def _indexed(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    return stored["neighbours"].fit(stored["rows"], stored["label"])
