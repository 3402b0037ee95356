"""``NoiseproofClassifier``: a scikit-learn classifier for data with wrong labels."""

from __future__ import annotations

import warnings
from html import escape
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from .auto import (
    Ensemble,
    Network,
    agreement,
    as_inputs,
    check_network,
    is_network,
    label_weights,
    member_predictions,
    train_network,
)
from .auto.arguments import check_accepts_weights, check_loss, class_array, sample_weights, seed_of
from .auto.store import Parts, class_from_json, class_to_json
from .features import Features, as_labels
from .features.labels import refuse_labels, warn_of_order, warn_of_variants
from .features.recognise import columns_as_table
from .labels.cross_fit import Rounds, cross_fitter, inputs_of, two_rounds
from .labels.cross_fit_models import CROSS_FIT_MODELS, Inputs, take
from .labels.estimator_rows import reads_rows
from .labels.findings import frame, take_index, weakness, with_classes
from .labels.folds import split
from .train.callbacks import notebook_line

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]


class NoiseproofClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier for tables, texts, arrays and images with wrong labels that also finds the wrong labels.

    ``fit`` cross-fits several models, judges every label by their out-of-sample predictions (see
    ``labels.find``) and fits them again with weights that are lower for suspected labels, if this predicts
    the given labels of held-out rows at least as well. Clean labels are never needed.

    Args:
        loss: "auto", or the spec of a loss for a network.
        model: "auto" (all of ``labels.CROSS_FIT_MODELS``), one of these by name, or a
            network: its spec such as "cnn8", a ``torch.nn.Module`` to copy, or a function that returns one,
            called with those of num_classes, in_channels and image_size that are its parameters. With
            loss="auto", ``auto.choose`` selects its loss and learning rate.
        estimator: a scikit-learn classifier to cross-fit and to fit again on rows with trusted labels. It
            gets encoded numbers, or the rows of X if it is a Pipeline that begins with a ColumnTransformer or
            a text vectoriser.
        folds: number of folds for cross-fitting.
        validation: share of rows held out to select the epoch of a network.
        epochs: of a network; by default 3,000 steps, but at least 30 and at most 500 epochs.
        random_state: an int for reproducible results, a ``numpy.random.RandomState``, or None.

    Attributes:
        classes_, noise_rate_, transition_ (``transition_[i, j]`` = P(given j | true i)), corrected_labels_
        (suspects replaced by the likeliest class), choice_ (description of the fitted model).

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
        """Fit to a DataFrame, array, sparse matrix, texts or images (N, H, W[, C]), and labels of any type.

        ``sample_weight`` is used to fit the models that predict, not to judge labels.
        """
        self._check_settings()
        label, classes = _labels(y)
        if len(classes) < 2:
            raise ValueError(f"y has one class, {classes[0]!r}: at least two classes are needed")
        if getattr(getattr(X, "dtype", None), "kind", None) == "c":
            raise ValueError(f"Complex data not supported: X has dtype {X.dtype}")
        X, seed = columns_as_table(X), seed_of(self.random_state)
        features = Features(random_state=seed, drop_ids=not reads_rows(self.estimator)).fit(X)
        count = _rows(X)
        if count != len(label):
            raise ValueError(f"X has {count:,} rows and y has {len(label):,} labels: one per row is needed")
        features.warn_of_unreadable(X)
        warn_of_variants(classes, "y")
        warn_of_order(X, y, "y")
        refuse_labels(X, label, classes)
        weight = sample_weights(sample_weight, count)
        if weight is not None and self._is_network:
            raise ValueError("sample_weight cannot be used with a network: leave it out")
        if weight is not None and self.estimator is not None:
            check_accepts_weights(self.estimator)
        self._features, self.classes_ = features, class_array(classes)
        self.n_features_in_ = _columns(X)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._fit(inputs_of(features, X, self.estimator), label, weight, seed)
        take_index(self._found, X, y)
        return self

    def _check_settings(self) -> None:
        named = isinstance(self.model, str)
        if not named and not callable(self.model):
            raise TypeError(
                f"model={self.model!r} must be the name of a model or a network; give a scikit-learn"
                " classifier as estimator="
            )
        if named and self.model not in ("auto", *CROSS_FIT_MODELS) and not is_network(self.model):
            raise ValueError(
                f"model={self.model!r} is unknown: choose auto, {', '.join(CROSS_FIT_MODELS)}, or a network"
                " such as mlp or cnn8"
            )
        if not isinstance(self.folds, Integral) or self.folds < 2:
            raise ValueError(f"folds={self.folds!r} must be a whole number, at least 2")
        if self.epochs is not None and (not isinstance(self.epochs, Integral) or self.epochs < 1):
            raise ValueError(f"epochs={self.epochs!r} must be a whole number, at least 1")
        if not isinstance(self.loss, str):
            raise TypeError(f"loss={self.loss!r} must be a string, such as 'gce(q=0.7)'")
        if self.loss != "auto":
            check_loss(self.loss, self.model)
        if self.estimator is not None and self._is_network:
            raise ValueError("estimator= and a network were given: leave out estimator=, or model= and loss=")
        is_invalid = isinstance(self.estimator, type) or not hasattr(self.estimator, "predict_proba")
        if self.estimator is not None and is_invalid:
            raise TypeError(
                f"estimator={self.estimator!r} must be a scikit-learn classifier with predict_proba, such as"
                " LogisticRegression()"
            )
        if not isinstance(self.validation, Real) or not 0 <= self.validation < 1:
            raise ValueError(f"validation={self.validation!r} must be a number: 0 <= validation < 1")

    @property
    def _is_network(self) -> bool:
        is_named = isinstance(self.model, str) and self.model in ("auto", *CROSS_FIT_MODELS)
        return self.loss != "auto" or not is_named

    def _fit(self, inputs: Inputs, label: np.ndarray, weight: np.ndarray | None, seed: int) -> None:
        if self._is_network:
            check_network(self._network, as_inputs(inputs.dense, self._image_shape), len(self.classes_))
        splits = split(label, max(2, min(self.folds, len(label))), rows=inputs.linear, seed=seed)
        chosen = self._names() if self.estimator is None else self.estimator
        show = notebook_line()

        def on_fit(name: str, fold: int) -> None:
            show(f"cross-fitting: {name}, fold {fold + 1} of {len(splits)}")

        fit = cross_fitter(chosen, inputs, label, len(self.classes_), splits, seed, on_fit)
        rounds = two_rounds(fit, label)
        about = {"folds": len(splits)}
        self._set_found(frame(rounds.judged, np.arange(len(label)), self.classes_.tolist(), about))
        if self._is_network:
            self._train(inputs, label, seed)
        elif self.estimator is None:
            self._fit_ensemble(inputs, label, weight, rounds, seed)
        else:
            self._fit_estimator(inputs, label, weight, rounds)
        show("fitted")

    def _set_found(self, found: DataFrame) -> None:
        self._found = found
        self.noise_rate_ = found.attrs["noise_rate"]
        self.transition_ = np.asarray(found.attrs["transition"])
        likely = np.where(found.is_label_issue, found.predicted_label, found.given_label)
        self.corrected_labels_ = self.classes_[likely]

    def _names(self) -> tuple[str, ...]:
        one = isinstance(self.model, str) and self.model in CROSS_FIT_MODELS
        return (self.model,) if one else tuple(CROSS_FIT_MODELS)

    def _fit_ensemble(
        self,
        inputs: Inputs,
        label: np.ndarray,
        weight: np.ndarray | None,
        rounds: Rounds,
        seed: int,
    ) -> None:
        classes = len(self.classes_)
        members = member_predictions(self._names(), rounds, label)
        self._model: Any = Ensemble.fit(members, inputs, label, weight, label_weights(rounds), classes, seed)
        share = 100 * agreement([one.probabilities for one in members], label)
        weighted = [one.name for one in members if one.is_weighted and one.name in self._model.names]
        how = f"weighted labels for {', '.join(weighted)}" if weighted else "all labels weighted equally"
        self.choice_ = f"{self._model}; {how}; predicts {share:.1f}% of held-out labels"

    def _fit_estimator(
        self, inputs: Inputs, label: np.ndarray, weight: np.ndarray | None, rounds: Rounds
    ) -> None:
        """Fit to the rows whose labels are probably right, unless a class would have no rows left."""
        keep = rounds.judged.wrong < 0.5
        worse = bool(rounds.second) and agreement(rounds.second, label) < agreement(rounds.first, label)
        if worse or len(np.unique(label[keep])) < len(self.classes_):
            keep = np.ones(len(label), dtype=bool)
        options = {} if weight is None else {"sample_weight": weight[keep]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits that do not converge
            model = clone(self.estimator).fit(take(inputs.for_estimator, keep), label[keep], **options)
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
        """(N, C) probabilities of the classes in the order of ``classes_``.

        With the built-in models they are divided by the square root of the class frequencies and rescaled:
        models fitted to wrong labels predict frequent classes too often.
        """
        check_is_fitted(self, "classes_")
        X = columns_as_table(X)
        expected = None if hasattr(X, "columns") else self.n_features_in_
        if expected is not None and _columns(X) not in (None, expected):
            raise ValueError(
                f"X has {_columns(X)} features, but {type(self).__name__} is expecting {expected} features as"
                " input"
            )
        self._features.warn_of_unreadable(X)
        inputs = inputs_of(self._features, X, self.estimator)
        if isinstance(self._model, Ensemble):
            return self._model.predict_proba(inputs)
        found: np.ndarray = self._model.predict_proba(as_inputs(inputs.dense, self._image_shape))
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        check_is_fitted(self, "classes_")
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions."""
        if getattr(self, "classes_", np.empty(0)).dtype == object:  # which accuracy_score refuses
            label, names = as_labels(y)
            number_of = {name: number for number, name in enumerate(self.classes_)}
            y = np.array([number_of.get(name, -1) for name in names])[label]
            return float(accuracy_score(y, self.predict_proba(X).argmax(1), sample_weight=sample_weight))
        return float(super().score(X, y, sample_weight))

    def find_label_issues(self) -> DataFrame:
        """The frame of ``labels.find``, in the order of the rows given to ``fit`` and with their index."""
        check_is_fitted(self, "classes_")
        found = self._found.copy()
        found.attrs = dict(self._found.attrs)
        return found

    def save(self, path: str | Path) -> None:
        """Write the classifier to one file, without pickle; ``load`` needs the same version of scikit-learn.

        Of a network without a spec, only the weights are written. The index of ``find_label_issues`` is
        written if it consists of whole numbers or text; otherwise the loaded classifier numbers the rows.
        """
        check_is_fitted(self, "classes_")
        settings = {name: _plain(getattr(self, name)) for name in ("loss", "folds", "validation", "epochs")}
        parts = Parts({"settings": settings, "choice": self.choice_, "columns_in": self.n_features_in_}, {})
        parts.facts["model"] = self.model if isinstance(self.model, str) else None
        parts.facts["random_state"] = (
            int(self.random_state) if isinstance(self.random_state, Integral) else None
        )
        parts.facts["classes"] = [class_to_json(name) for name in self.classes_.tolist()]
        parts.facts["classes_dtype"] = self.classes_.dtype.str
        parts.facts["column_names"] = list(map(str, getattr(self, "feature_names_in_", []))) or None
        columns = [name for name in self._found if not name.endswith("_name")]
        parts.facts["found"], parts.facts["found_columns"] = self._found.attrs, columns
        parts.facts["found_index"] = _plain_index(self._found)
        name = self._found.index.name
        parts.facts["found_index_name"] = name if type(name) in (int, str) else None
        parts.put_arrays("found.safetensors", {name: self._found[name].to_numpy() for name in columns})
        parts.facts["features"], arrays = self._features.state()
        parts.put_arrays("features.safetensors", arrays)
        if self.estimator is not None:
            parts.put_models("estimator.skops", self.estimator)
        self._model.to_parts(parts)
        parts.write(path)

    @classmethod
    def load(cls, path: str | Path, *, model: Any = None) -> NoiseproofClassifier:
        """Read a file of ``save``, without pickle; ``model`` makes the network if it has no spec."""
        from pandas import DataFrame

        with Parts.read(path) as parts:
            facts = parts.facts
            estimator = parts.models("estimator.skops") if "estimator.skops" in parts.parts else None
            chosen = facts["model"] if facts["model"] is not None else model
            new = cls(
                model=chosen, estimator=estimator, random_state=facts["random_state"], **facts["settings"]
            )
            classes = [class_from_json(name) for name in facts["classes"]]
            new.classes_ = np.array(classes, dtype=np.dtype(facts["classes_dtype"]))
            new.n_features_in_, new.choice_ = facts["columns_in"], str(facts["choice"])
            if facts["column_names"] is not None:
                new.feature_names_in_ = np.asarray(facts["column_names"], dtype=object)
            new._features = Features.from_state(facts["features"], parts.arrays("features.safetensors"))
            found = DataFrame(parts.arrays("found.safetensors"))
            found = found[facts["found_columns"]]
            found.attrs = dict(facts["found"])
            new._set_found(with_classes(found, new.classes_.tolist()))
            if facts.get("found_index") is not None:
                new._found.index = facts["found_index"]
                new._found.index.name = facts.get("found_index_name")
            new._model = (
                Ensemble.from_parts(parts)
                if "models.skops" in parts.parts
                else Network.from_parts(parts, model)
            )
        return new

    def __repr__(self, **options: Any) -> str:
        text = str(super().__repr__(**options))
        return text if not hasattr(self, "_found") else "\n  ".join([text, *self._summary()])

    def _summary(self) -> list[str]:
        """The result of ``fit`` in a few lines."""
        found, about = self._found, self._found.attrs
        lines = [
            f"{len(found):,} rows, {len(self.classes_)} classes, {self._features.kind}",
            f"choice: {self.choice_}",
            f"labels: {100 * self.noise_rate_:.1f}% estimated wrong, {found.is_label_issue.sum():,} suspects",
        ]
        warning = weakness(about)
        return lines if warning is None else [*lines, warning]

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


def _rows(X: Any) -> int:
    if not hasattr(X, "shape") and not hasattr(X, "__len__"):
        X = np.asarray(X)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _columns(X: Any) -> int | None:
    """Number of columns; None for rows that are not vectors, such as texts and images."""
    if hasattr(X, "shape"):
        return int(X.shape[1]) if len(X.shape) == 2 else None
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple, np.ndarray)):
        is_image = len(X[0]) > 0 and isinstance(X[0][0], (list, tuple, np.ndarray))
        return None if is_image else len(X[0])
    return None


def _plain_index(found: DataFrame) -> list[Any] | None:
    """The index if it consists of whole numbers or text, otherwise None."""
    values = found.index.tolist()
    return values if {type(value) for value in values} <= {int, str} else None


def _plain(setting: Any) -> Any:
    return setting.item() if isinstance(setting, np.generic) else setting
