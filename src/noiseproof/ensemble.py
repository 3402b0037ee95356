"""Several models that predict together, each as loud as it is right about unseen rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .labels.posterior import TRUST, combine_weighted
from .labels.witnesses import WITNESSES, Inputs

FAINT = 0.02
"""Models with less of the say than this are left out."""


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
        accuracy = np.array([(one.argmax(1) == label).mean() for one in said])
        share = np.exp(TRUST * (accuracy - accuracy.max()))
        share /= share.sum()
        chosen = [number for number in np.argsort(-share) if share[number] >= FAINT]
        models = []
        for number in chosen:
            witness = WITNESSES[names[number]]
            model = witness.make(seed, hasattr(inputs.linear, "tocsr"))
            weights = {"sample_weight": weight} if witness.weighs else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits that end before they converge
                models.append(model.fit(getattr(inputs, witness.reads), label, **weights))
        heard = share[chosen] / share[chosen].sum()
        return cls(
            tuple(names[number] for number in chosen), tuple(models), tuple(map(float, heard)), classes
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
