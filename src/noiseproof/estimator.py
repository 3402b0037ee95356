"""``NoiseproofClassifier``: fit(X, y) for data whose labels cannot be trusted."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from .ensemble import Ensemble
from .features import Features, as_labels
from .labels.cross_fit import asker
from .labels.findings import Judgement, frame
from .labels.folds import split
from .labels.judge import wrong_probability
from .labels.posterior import combine, posterior
from .labels.witnesses import WITNESSES, Inputs

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

LEAST = 0.01
"""Weight of a row whose label is surely wrong."""
STEPS = 3000


class NoiseproofClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for tables, texts and arrays with wrong labels; it also says which are wrong.

    ``fit`` cross-fits several models, judges every label by what they say of rows they have not seen (see
    ``labels.find``) and fits them again with the doubtful labels weighted down, if that predicts the given
    labels of unseen rows at least as well. Clean labels are never needed.

    Args:
        loss: "auto", or the spec of a loss: a network is trained with it instead.
        model: "auto" (all of ``labels.WITNESSES``), one of them by name, or with ``loss`` the spec of a
            network.
        estimator: any scikit-learn classifier, which is cross-fitted, and fitted again on trusted labels.
        folds: of the cross-fitting.
        validation: with ``loss``, the share of rows that chooses the epoch.
        epochs: with ``loss``; as many as make 3,000 steps if left out, at least 20 and at most 500.
        random_state: a whole number, for the same result every time.

    Attributes:
        classes_, noise_rate_, transition_ (``transition_[i, j]`` = P(given j | true i)), corrected_labels_
        (marked labels replaced by the likeliest class), choice_ (what was chosen, in words).

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = NoiseproofClassifier(random_state=0).fit(X, y)
        >>> model.score(X, y) > 0.9, len(model.find_label_issues())
        (True, 150)
    """

    def __init__(
        self,
        loss: str = "auto",
        model: str = "auto",
        estimator: Any = None,
        *,
        folds: int = 5,
        validation: float = 0.2,
        epochs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.loss, self.model, self.estimator = loss, model, estimator
        self.folds, self.validation, self.epochs = folds, validation, epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NoiseproofClassifier:
        """X: a DataFrame, an array, a sparse matrix or texts; y: labels of any type."""
        label, classes = as_labels(y)
        self.classes_ = np.asarray(classes)
        self._check(X, label)
        seed = 0 if self.random_state is None else int(self.random_state)
        self._features = Features(random_state=seed)
        dense = self._features.fit_transform(X)
        sparse = self._features.sparse(X)
        inputs = Inputs(dense, dense if sparse is None else sparse.tocsr())
        self.n_features_in_ = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        given = np.ones(len(label)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self._fit(inputs, label, given, seed)
        return self

    def _check(self, X: Any, label: np.ndarray) -> None:
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        if count != len(label):
            raise ValueError(f"X has {count:,} rows and y {len(label):,} labels: one label per row is needed")
        if len(self.classes_) < 2:
            raise ValueError(f"all labels are {self.classes_[0]!r}: there is nothing to tell apart")
        if self.loss == "auto" and self.model not in ("auto", *WITNESSES):
            raise ValueError(
                f"model={self.model!r} is unknown with loss='auto': choose auto, {', '.join(WITNESSES)}, or"
                " name a loss to train a network"
            )

    def _fit(self, inputs: Inputs, label: np.ndarray, given: np.ndarray, seed: int) -> None:
        classes, counts = len(self.classes_), np.bincount(label)
        folds = max(2, min(self.folds, len(label), int(counts[counts > 0].max())))
        splits = split(label, folds, rows=inputs.linear, seed=seed)
        chosen = self.estimator if self.estimator is not None else self._names()
        ask = asker(chosen, inputs, label, classes, splits, seed, lambda name, fold: None)
        first = ask(None)
        said = posterior(first, label)
        second = ask(np.clip(said.true[np.arange(len(label)), label], LEAST, 1))
        rounds = [said, posterior(second, label)] if second else [said]
        wrong = wrong_probability("cross_fit" if second else "probabilities", rounds, label)
        judged = Judgement(label, wrong, rounds[-1].true)
        self._found = frame(judged, np.arange(len(label)), list(map(str, self.classes_)), {"folds": folds})
        self.noise_rate_ = self._found.attrs["noise_rate"]
        self.transition_ = np.asarray(self._found.attrs["transition"])
        better = np.where(self._found.is_label_issue, self._found.predicted_label, label)
        self.corrected_labels_ = self.classes_[better]
        agreement = [float((combine(one, label).argmax(1) == label).mean()) for one in (first, second) if one]
        trusts = len(agreement) == 2 and agreement[1] >= agreement[0]
        weight = given * np.clip(1 - wrong, LEAST, 1) if trusts else given
        self._refit(inputs, label, weight, first, seed, agreement)

    def _names(self) -> tuple[str, ...]:
        return tuple(WITNESSES) if self.model not in WITNESSES else (self.model,)

    def _refit(
        self,
        inputs: Inputs,
        label: np.ndarray,
        weight: np.ndarray,
        first: list[np.ndarray],
        seed: int,
        agreement: list[float],
    ) -> None:
        trusts = len(np.unique(weight)) > 1
        how = "labels weighted by trust" if trusts else "all labels counted alike"
        self._network: Any = None
        if self.loss != "auto":
            self._train(inputs, label, seed)
            self.choice_ = f"{self._network_model()} trained with {self.loss}, epoch by noisy validation"
            return
        if self.estimator is not None:
            keep = weight >= 0.5 * weight.max()
            keep = keep if len(np.unique(label[keep])) == len(np.unique(label)) else np.ones(len(label), bool)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = clone(self.estimator).fit(inputs.linear[keep], label[keep])
            self._ensemble = Ensemble.of(fitted, len(self.classes_))
            self.choice_ = f"{type(self.estimator).__name__} on {int(keep.sum()):,} of {len(label):,} rows"
            return
        self._ensemble = Ensemble.fit(self._names(), inputs, label, weight, first, len(self.classes_), seed)
        self.choice_ = f"{self._ensemble}, {how}; agrees with {100 * max(agreement):.1f}% of unseen labels"

    def _network_model(self) -> str:
        return "mlp" if self.model == "auto" else self.model

    def _train(self, inputs: Inputs, label: np.ndarray, seed: int) -> None:
        from .data import LabelledData
        from .train import Config, fit

        names = list(map(str, self.classes_))
        data = LabelledData(inputs.dense, label, class_names=names, name="X", duplicates="ignore")
        with tempfile.TemporaryDirectory(prefix="noiseproof-") as folder:
            config = Config(
                loss=self.loss,
                model=self._network_model(),
                epochs=self.epochs or int(np.clip(STEPS * 128 / len(label), 20, 500)),
                validation=self.validation,
                seed=seed,
                out=str(Path(folder, "run")),
            )
            run = fit(config, data=data)
            self._network = run.load_model("best" if self.validation else "final")

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities of the classes in the order of ``classes_``."""
        check_is_fitted(self, "classes_")
        dense = self._features.transform(X)
        if self._network is not None:
            import torch

            with torch.no_grad():
                return np.asarray(self._network(torch.from_numpy(dense)).softmax(1))
        sparse = self._features.sparse(X)
        return self._ensemble.predict_proba(Inputs(dense, dense if sparse is None else sparse.tocsr()))

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        check_is_fitted(self, "classes_")
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def find_label_issues(self) -> DataFrame:
        """The frame of ``labels.find``, in the order of the rows given to ``fit``."""
        check_is_fitted(self, "classes_")
        found = self._found.copy()
        found.attrs = dict(self._found.attrs)
        return found
