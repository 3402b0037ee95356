"""Several models that predict together, weighted by their accuracy on rows they have not seen."""

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
from ..labels.folds import Split
from ..labels.posterior import combine_weighted
from ..labels.witnesses import WITNESSES, Inputs, Witness, out_of_fold
from .store import Parts

LEAST_SHARE = 0.02
"""Models with a smaller weight are left out."""
SHARP = 60.0
"""A model that predicts fewer of the given labels by a share a has exp(-60 a) of the best one's weight."""
LEAST = 0.01
"""Smallest weight of a row."""
POINTS = 300
"""Rows to which the kernel compares."""


def _kernel(seed: int, text: bool, rows: int) -> Any:
    return LogisticRegression(C=10.0, max_iter=300)


KERNEL = "kernel"
MEMBERS: Mapping[str, Witness] = {**WITNESSES, KERNEL: Witness(_kernel, "dense", weighs=True)}
"""The witnesses of labels, and a linear model of Gaussian kernels: smooth borders, hard to bend by noise."""


class Heard(NamedTuple):
    """What a kind of model says of rows it has not seen, and whether it weighs labels by trust."""

    name: str
    said: np.ndarray
    trusts: bool


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
        heard: Sequence[Heard],
        inputs: Inputs,
        label: np.ndarray,
        given: np.ndarray | None,
        trust: np.ndarray,
        classes: int,
        seed: int,
    ) -> Ensemble:
        """Fit each kind of model to all rows, weighted by ``given`` and where it trusts by ``trust``."""
        share = shares([one.said for one in heard], label)
        chosen = [number for number in np.argsort(-share) if share[number] >= LEAST_SHARE]
        models = []
        for number in chosen:
            weight = trust if heard[number].trusts else np.ones(len(label))
            weight = weight if given is None else weight * given
            models.append(_fitted(heard[number].name, inputs, label, weight, seed))
        weights = share[chosen] / share[chosen].sum()
        names = tuple(heard[number].name for number in chosen)
        return cls(names, tuple(models), tuple(map(float, weights)), classes)

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """Weighted geometric mean of the probabilities."""
        said = []
        for name, model in zip(self.names, self.models, strict=True):
            rows = getattr(inputs, MEMBERS[name].reads)
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
        if not len(new.names) == len(new.models) == len(new.weights) or not set(new.names) <= set(MEMBERS):
            raise ValueError("its models are not those of a classifier")
        return new


def hear(
    names: Sequence[str],
    rounds: Rounds,
    inputs: Inputs,
    label: np.ndarray,
    splits: Sequence[Split],
    classes: int,
    seed: int,
) -> list[Heard]:
    """Each witness in the round that predicts more given labels, and the kernel beside several of them."""
    weighing = [name for name in names if WITNESSES[name].weighs]
    second = dict(zip(weighing, rounds.second, strict=False))
    heard = [
        _better(name, said, second.get(name), label) for name, said in zip(names, rounds.first, strict=True)
    ]
    if len(names) > 1:
        rows = kernel_of(inputs.dense, seed).transform(inputs.dense)
        first, again = (
            out_of_fold(partial(_kernel, seed, False), rows, label, classes, splits, weight)
            for weight in (None, trust_of(rounds))
        )
        heard.append(_better(KERNEL, first, again, label))
    return heard


def _better(name: str, first: np.ndarray, second: np.ndarray | None, label: np.ndarray) -> Heard:
    trusts = second is not None and agreement([second], label) >= agreement([first], label)
    return Heard(name, second if second is not None and trusts else first, trusts)


def trust_of(rounds: Rounds) -> np.ndarray:
    """Weights of the rows: how likely their labels are right."""
    return np.asarray(np.clip(1 - rounds.judged.wrong, LEAST, 1))


def agreement(said: Sequence[np.ndarray], label: np.ndarray) -> float:
    """Share of the given labels that the models predict together."""
    together = combine_weighted(said, shares(said, label)) if len(said) > 1 else said[0]
    return float((together.argmax(1) == label).mean())


def shares(said: Sequence[np.ndarray], label: np.ndarray) -> np.ndarray:
    """Weights of the models, which sum to 1."""
    agrees = np.array([(one.argmax(1) == label).mean() for one in said])
    weight = np.exp(SHARP * (agrees - agrees.max()))
    return np.asarray(weight / weight.sum())


def kernel_of(rows: np.ndarray, seed: int) -> Nystroem:
    """Similarities to some of the rows; two rows at the usual distance have one of 1/e."""
    spread = float(rows.var(0).sum())
    return Nystroem(
        gamma=1 / (2 * spread) if spread > 0 else None,
        n_components=min(POINTS, len(rows)),
        random_state=seed,
    ).fit(rows)


def _fitted(name: str, inputs: Inputs, label: np.ndarray, weight: np.ndarray, seed: int) -> Any:
    witness = MEMBERS[name]
    model = witness.make(seed, hasattr(inputs.linear, "tocsr"), len(label))
    rows = getattr(inputs, witness.reads)
    options = {"sample_weight": weight} if witness.weighs else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end before they converge
        if name == KERNEL:
            kernel = kernel_of(rows, seed)
            return make_pipeline(kernel, model.fit(kernel.transform(rows), label, **options))
        return model.fit(rows, label, **options)


def _without_index(model: Any) -> Any:
    """Neighbours without the tree that finds them, which skops does not store: it is built again."""
    if not isinstance(model, KNeighborsClassifier):
        return model
    return {"neighbours": clone(model), "rows": model._fit_X, "label": model.classes_[model._y]}


def _indexed(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    return stored["neighbours"].fit(stored["rows"], stored["label"])
