"""``NoiseproofClassifier``: fit(X, y) for data whose labels cannot be trusted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from html import escape
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import losses
from .auto import (
    Ensemble,
    Network,
    agreement,
    as_inputs,
    check_network,
    hear,
    is_network,
    train_network,
    trust_of,
)
from .auto.store import Parts
from .features import Features, as_labels
from .features.labels import refuse_labels
from .features.recognise import columns_as_table
from .labels.cross_fit import Rounds, asker, inputs_of, two_rounds
from .labels.findings import frame, weakness, with_classes
from .labels.folds import Split, split
from .labels.witnesses import WITNESSES, Inputs
from .train.callbacks import notebook_line

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class NoiseproofClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for tables, texts, arrays and images with wrong labels; it also says which are wrong.

    ``fit`` cross-fits several models, judges every label by what they say of rows they have not seen (see
    ``labels.find``) and fits them again with the doubtful labels weighted down, if that predicts the given
    labels of unseen rows at least as well. Clean labels are never needed.

    Args:
        loss: "auto", or the spec of a loss to train a network with.
        model: "auto" (all of ``labels.WITNESSES`` and a kernel), one of the witnesses by name, or a network:
            its spec such as "cnn8", a ``torch.nn.Module`` to copy, or a function that makes one and names
            those of num_classes, in_channels and image_size that it needs. With loss="auto" its loss and
            learning rate are chosen, see ``auto.choose``.
        estimator: any scikit-learn classifier, which is cross-fitted, and fitted again on trusted labels.
        folds: of the cross-fitting.
        validation: of a network, the share of rows that chooses the epoch.
        epochs: of a network; as many as make 3,000 steps if left out, at least 30 and at most 500.
        random_state: a whole number for the same result every time, a ``numpy.random.RandomState``, or None.

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
        model: Any = "auto",
        estimator: Any = None,
        *,
        folds: int = 5,
        validation: float = 0.2,
        epochs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss, self.model, self.estimator = loss, model, estimator
        self.folds, self.validation, self.epochs = folds, validation, epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NoiseproofClassifier:
        """X: a DataFrame, array, sparse matrix, texts or images (N, H, W[, C]); y: labels of any type.

        ``sample_weight`` counts in the models that predict, not in the judgement of labels.
        """
        self._check_settings()
        label, classes = _labels(y)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes[0]!r}: all labels are the same, at least two are needed"
            )
        if getattr(getattr(X, "dtype", None), "kind", None) == "c":
            raise ValueError(f"Complex data not supported: X has dtype {X.dtype}")
        X, seed = columns_as_table(X), _seed(self.random_state)
        features = Features(random_state=seed).fit(X)
        count = _rows(X)
        if count != len(label):
            raise ValueError(f"X has {count:,} rows and y {len(label):,} labels: one label per row is needed")
        refuse_labels(X, label, classes)
        weight = _weights(sample_weight, count)
        if weight is not None and self._is_network:
            raise ValueError("sample_weight cannot be used with a network: leave it out")
        self._features, self.classes_ = features, _as_array(classes)
        self.n_features_in_ = _columns(X)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._fit(inputs_of(features, X, self.estimator), label, weight, seed)
        return self

    def _check_settings(self) -> None:
        named = isinstance(self.model, str)
        if named and self.model not in ("auto", *WITNESSES) and not is_network(self.model):
            raise ValueError(
                f"model={self.model!r} is unknown: choose auto, {', '.join(WITNESSES)}, or a network"
                " such as mlp or cnn8"
            )
        if not isinstance(self.folds, Integral) or self.folds < 2:
            raise ValueError(f"folds={self.folds!r} must be a whole number, at least 2")
        if self.epochs is not None and (not isinstance(self.epochs, Integral) or self.epochs < 1):
            raise ValueError(f"epochs={self.epochs!r} must be a whole number, at least 1")
        if self.loss != "auto":
            losses.get(self.loss)
        if self.estimator is not None and self._is_network:
            raise ValueError("estimator= and a network were given: leave out estimator=, or model= and loss=")
        foreign = isinstance(self.estimator, type) or not hasattr(self.estimator, "predict_proba")
        if self.estimator is not None and foreign:
            raise TypeError(
                f"estimator={self.estimator!r} must be a scikit-learn classifier with predict_proba, such as"
                " LogisticRegression()"
            )
        if not 0 <= self.validation < 1:
            raise ValueError(f"validation={self.validation!r} is out of range: 0 <= validation < 1")

    @property
    def _is_network(self) -> bool:
        witness = isinstance(self.model, str) and self.model in ("auto", *WITNESSES)
        return self.loss != "auto" or not witness

    def _fit(self, inputs: Inputs, label: np.ndarray, given: np.ndarray | None, seed: int) -> None:
        if self._is_network:
            check_network(self._network, as_inputs(inputs.dense, self._image_shape), len(self.classes_))
        splits = split(label, max(2, min(self.folds, len(label))), rows=inputs.linear, seed=seed)
        chosen = self._names() if self.estimator is None else self.estimator
        show = notebook_line()

        def tell(name: str, fold: int) -> None:
            show(f"cross-fitting: {name}, part {fold + 1} of {len(splits)}")

        ask = asker(chosen, inputs, label, len(self.classes_), splits, seed, tell)
        rounds = two_rounds(ask, label)
        about = {"folds": len(splits)}
        self._set_found(frame(rounds.judged, np.arange(len(label)), self.classes_.tolist(), about))
        if self._is_network:
            self._train(inputs, label, seed)
        elif self.estimator is None:
            self._fit_ensemble(inputs, label, given, rounds, splits, seed)
        else:
            self._fit_estimator(inputs, label, given, rounds)
        show("fitted")

    def _set_found(self, found: DataFrame) -> None:
        self._found = found
        self.noise_rate_ = found.attrs["noise_rate"]
        self.transition_ = np.asarray(found.attrs["transition"])
        likely = np.where(found.is_label_issue, found.predicted_label, found.given_label)
        self.corrected_labels_ = self.classes_[likely]

    def _names(self) -> tuple[str, ...]:
        one = isinstance(self.model, str) and self.model in WITNESSES
        return (self.model,) if one else tuple(WITNESSES)

    def _fit_ensemble(
        self,
        inputs: Inputs,
        label: np.ndarray,
        given: np.ndarray | None,
        rounds: Rounds,
        splits: Sequence[Split],
        seed: int,
    ) -> None:
        classes = len(self.classes_)
        heard = hear(self._names(), rounds, inputs, label, splits, classes, seed)
        trust = trust_of(rounds)
        self._model: Any = Ensemble.fit(heard, inputs, label, given, trust, classes, seed)
        share = 100 * agreement([one.said for one in heard], label)
        trusting = [one.name for one in heard if one.trusts and one.name in self._model.names]
        how = (
            "all labels counted alike"
            if not trusting
            else f"labels weighted by trust in {', '.join(trusting)}"
        )
        self.choice_ = f"{self._model}; {how}; agrees with {share:.1f}% of unseen labels"

    def _fit_estimator(
        self, inputs: Inputs, label: np.ndarray, given: np.ndarray | None, rounds: Rounds
    ) -> None:
        """On the rows whose labels are rather right than wrong, unless a class would vanish."""
        keep = rounds.judged.wrong < 0.5
        worse = bool(rounds.second) and agreement(rounds.second, label) < agreement(rounds.first, label)
        if worse or len(np.unique(label[keep])) < len(self.classes_):
            keep = np.ones(len(label), dtype=bool)
        options = {} if given is None else {"sample_weight": given[keep]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that end before they converge
            model = clone(self.estimator).fit(inputs.linear[keep], label[keep], **options)
        self._model = Ensemble.of(model, len(self.classes_))
        self.choice_ = f"{type(model).__name__} on {int(keep.sum()):,} of {len(label):,} rows"

    @property
    def _network(self) -> Any:
        return "mlp" if isinstance(self.model, str) and self.model == "auto" else self.model

    def _train(self, inputs: Inputs, label: np.ndarray, seed: int) -> None:
        model = self._network
        names = list(map(str, self.classes_))
        self._model, words = train_network(
            as_inputs(inputs.dense, self._image_shape),
            label,
            names if len(set(names)) == len(names) else list(map(str, range(len(names)))),
            loss=self.loss,
            model=model,
            epochs=self.epochs,
            validation=self.validation,
            seed=seed,
        )
        called = model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)
        self.choice_ = f"{called} trained with {words}, epoch by noisy validation"

    @property
    def _image_shape(self) -> tuple[int, ...]:
        return self._features.sample_shape

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities of the classes in the order of ``classes_``."""
        check_is_fitted(self, "classes_")
        X = columns_as_table(X)
        if not hasattr(X, "columns") and _columns(X) not in (None, self.n_features_in_):
            raise ValueError(
                f"X has {_columns(X)} features, but {type(self).__name__} is expecting {self.n_features_in_}"
                " features as input"
            )
        inputs = inputs_of(self._features, X, self.estimator)
        if isinstance(self._model, Ensemble):
            return self._model.predict_proba(inputs)
        found: np.ndarray = self._model.predict_proba(as_inputs(inputs.dense, self._image_shape))
        return found

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

    def save(self, path: str | Path) -> None:
        """Write everything to one file, without pickle; ``load`` reads it, on this version of scikit-learn.

        A network of your own (not named by a spec) is not in the file, only its weights.
        """
        check_is_fitted(self, "classes_")
        settings = {name: getattr(self, name) for name in ("loss", "folds", "validation", "epochs")}
        parts = Parts({"settings": settings, "choice": self.choice_, "columns_in": self.n_features_in_}, {})
        parts.facts["model"] = self.model if isinstance(self.model, str) else None
        parts.facts["random_state"] = self.random_state if isinstance(self.random_state, int) else None
        parts.facts["classes"] = [_plain(name) for name in self.classes_.tolist()]
        parts.facts["classes_dtype"] = self.classes_.dtype.str
        parts.facts["column_names"] = list(map(str, getattr(self, "feature_names_in_", []))) or None
        columns = [name for name in self._found if not name.endswith("_name")]
        parts.facts["found"], parts.facts["found_columns"] = self._found.attrs, columns
        parts.put_arrays("found.safetensors", {name: self._found[name].to_numpy() for name in columns})
        parts.facts["features"], arrays = self._features.state()
        parts.put_arrays("features.safetensors", arrays)
        if self.estimator is not None:
            parts.put_models("estimator.skops", self.estimator)
        self._model.put(parts)
        parts.write(path)

    @classmethod
    def load(cls, path: str | Path, *, model: Any = None) -> NoiseproofClassifier:
        """What ``save`` wrote; nothing is unpickled. ``model`` makes your own network where one was used."""
        from pandas import DataFrame

        with Parts.read(path) as parts:
            facts = parts.facts
            estimator = parts.models("estimator.skops") if "estimator.skops" in parts.parts else None
            chosen = facts["model"] if facts["model"] is not None else model
            new = cls(
                model=chosen, estimator=estimator, random_state=facts["random_state"], **facts["settings"]
            )
            new.classes_ = np.array(facts["classes"], dtype=np.dtype(facts["classes_dtype"]))
            new.n_features_in_, new.choice_ = facts["columns_in"], str(facts["choice"])
            if facts["column_names"] is not None:
                new.feature_names_in_ = np.asarray(facts["column_names"], dtype=object)
            new._features = Features.from_state(facts["features"], parts.arrays("features.safetensors"))
            found = DataFrame(parts.arrays("found.safetensors"))
            found = found[facts["found_columns"]]
            found.attrs = dict(facts["found"])
            new._set_found(with_classes(found, new.classes_.tolist()))
            new._model = Ensemble.get(parts) if "models.skops" in parts.parts else Network.get(parts, model)
        return new

    def __repr__(self, **options: Any) -> str:
        told = str(super().__repr__(**options))
        return told if not hasattr(self, "_found") else "\n  ".join([told, *self._summary()])

    def _summary(self) -> list[str]:
        """What a reader wants to know of the fit, in a few lines."""
        found, about = self._found, self._found.attrs
        lines = [
            f"{len(found):,} rows, {len(self.classes_)} classes, {self._features.kind}",
            f"choice: {self.choice_}",
            f"labels: about {100 * self.noise_rate_:.1f}% wrong, {int(found.is_label_issue.sum()):,} marked",
        ]
        return lines + [told for told in [weakness(about)] if told]

    def _repr_html_(self) -> str:
        if not hasattr(self, "_found"):
            return f"<pre>{escape(repr(self))}</pre>"
        rows = "".join(f"<li>{escape(line)}</li>" for line in self._summary())
        return f"<b>{escape(str(BaseEstimator.__repr__(self)))}</b><ul>{rows}</ul>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.three_d_array = True
        return tags


def _labels(y: Any) -> tuple[np.ndarray, list[Any]]:
    if y is None:
        raise ValueError("NoiseproofClassifier requires y to be passed, but the target y is None")
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: give y.ravel()",
            DataConversionWarning,
            stacklevel=3,
        )
    return as_labels(y)


def _as_array(classes: list[Any]) -> np.ndarray:
    """Text stays text beside numbers: 1 does not become "1"."""
    kinds = {isinstance(name, str) for name in classes}
    return np.asarray(classes, dtype=object if len(kinds) > 1 else None)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _weights(sample_weight: Any, count: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (count,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(count,)}: one weight per row")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    return weight


def _rows(X: Any) -> int:
    if not hasattr(X, "shape") and not hasattr(X, "__len__"):
        X = np.asarray(X)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _columns(X: Any) -> int | None:
    """Number of columns; None for what is no matrix, such as texts and images."""
    if hasattr(X, "shape"):
        return int(X.shape[1]) if len(X.shape) == 2 else None
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple, np.ndarray)):
        return len(X[0])
    return None


def _plain(name: Any) -> Any:
    if isinstance(name, (str, int, float, bool)):
        return name
    raise ValueError(
        f"a class is {name!r}, of type {type(name).__name__}: only text and numbers can be saved"
    )
