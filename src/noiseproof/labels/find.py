"""``find``: the probability that each label is wrong, and which labels are suspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..data import LabelledData
from ..data.inputs import RawInputs, raw_rows
from ..dynamics import Record, RunFolder
from ..dynamics.statistics import STATISTICS, available
from ..engines import check_engine
from ..features import as_labels
from ..features.labels import refuse_labels, warn_of_order, warn_of_variants
from ..features.recognise import columns_as_table
from ..memory import on_the_cpu
from .calibrator import judge
from .checks import as_probabilities, check_rows, check_whole
from .cross_fit import OnFit, judge_by_cross_fitting
from .cross_fit_models import CROSS_FIT_MODELS
from .epochs import best_window, first_learned_epoch, is_weak, memorises, progress
from .estimator_rows import reads_rows
from .evidence import label_score
from .findings import Judgement, frame, score_of, take_index
from .from_record import record_evidence
from .posterior import posterior, predicts
from .probability_columns import in_order, match_labels
from .run_data import training_data

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

FOLDS = 5


def find(
    given: Any = None,
    *,
    label: object = None,
    probabilities: object = None,
    folds: int | None = None,
    model: object = None,
    groups: Sequence[object] | np.ndarray | None = None,
    class_names: Sequence[Any] | None = None,
    statistics: bool = True,
    seed: int = 0,
    on_fit: OnFit = lambda name, fold: None,
    engine: str = "local",
) -> DataFrame:
    """Judge every label of data, of a training run, or by given probabilities.

    Args:
        given: data: a DataFrame, an array, a sparse matrix, a list of texts, or a ``LabelledData``, to which
            models are cross-fitted. Or a run (or its folder) or a ``Record``: training samples are judged by
            the predictions during training, validation samples by those of the trained network.
        label: the given labels, of any type; required for data without labels and for probabilities alone.
        probabilities: (N, C) out-of-sample predictions, such as those of cross-validation, or a list of
            several such arrays; alone, instead of cross-fitting for data, or in addition to a run, in the
            order of its record. Columns are in the order of class numbers or of ``class_names``. The columns
            of a DataFrame may be classes, in any order. Otherwise, if ``label`` holds names, columns are in
            the order of the sorted names, as those of scikit-learn.
        folds: number of folds for cross-fitting, by default 5, at most one per row. For a run: cross-fit its
            training data instead of reading its record, which takes longer but finds more wrong labels.
        model: the model to cross-fit: by default all of ``CROSS_FIT_MODELS`` (a linear model, randomised
            trees, a small network, nearest neighbours, Gaussian kernels); one or several of them by name, a
            scikit-learn classifier, which gets encoded numbers, or the rows as they are if it is a Pipeline
            that begins with a ColumnTransformer or a text vectoriser; or the spec of a network, such as
            "cnn8" for images (N, H, W[, C]) or (N, C, H, W); those of ``LabelledData`` are (N, C, H, W).
        groups: one entry per row; rows of a group, and equal rows, are always in the same fold.
        class_names: of the columns of probabilities, all different.
        statistics: add the columns of ``dynamics.statistics`` that the record allows.
        seed: of folds and models.
        on_fit: called with the name of the model and the fold before each fit.
        engine: "local", or "ray": each fold is a task of a Ray cluster.

    Returns:
        One row per label, in the order of the data (of a run: of its record, then validation rows) and with
        the index of a DataFrame or Series, with ``index`` (permanent number: of rows, from 0),
        ``is_label_issue``, ``label_score`` (higher = cleaner, in [0, 1]; below 1/2 for issues),
        ``wrong_probability`` (calibrated, except for a record: there the share of epochs that contradict the
        label), ``given_label``, ``predicted_label`` (class numbers; -1 and NaN if never predicted),
        ``given_name`` and ``predicted_name`` (the classes themselves, as they are in ``label``),
        ``predicted_probability`` (that ``predicted_label`` is the true class). ``frame.attrs`` holds
        ``noise_rate``, ``class_noise_rate``, ``transition`` (``transition[i][j]`` = P(given j | true i)),
        ``expected_wrong`` (expected number of truly wrong labels among the issues), ``weak`` (whether the
        issues are unreliable) and ``class_names``. Clean labels are never used.

    Example:
        >>> rows = np.r_[np.random.default_rng(0).normal(0, 1, (60, 2)), np.full((60, 2), 9.0)]
        >>> rows[60:] += np.random.default_rng(1).normal(0, 1, (60, 2))
        >>> names = ["low"] * 60 + ["high"] * 60
        >>> names[3] = "high"
        >>> found = find(rows, label=names)
        >>> found[found.is_label_issue][["index", "given_name", "predicted_name"]]
           index given_name predicted_name
        3      3       high            low
        >>> found.attrs["class_names"], found.attrs["weak"]
        (['high', 'low'], False)
    """
    check_engine(engine)
    other = None if engine == "local" else engine
    check_whole("seed", seed, 0)
    if folds is not None:
        check_whole("folds", folds)
    with on_the_cpu():
        if isinstance(given, (Path, str)):
            given = RunFolder(given)
        if folds is not None and isinstance(given, RunFolder):
            given = training_data(given)
        if isinstance(given, (RunFolder, Record)):
            refused = {"label": label, "class_names": class_names, "model": model, "engine": other}
            _refuse(refused | {"groups": groups}, "a run has its own labels and is cross-fitted with folds=5")
            return _of_run(given, probabilities, statistics)
        if given is None:
            refused = {"folds": folds, "model": model, "groups": groups, "engine": other}
            _refuse(refused, "there are no data to cross-fit")
            return _of_probabilities(probabilities, label, class_names)
        if probabilities is not None:
            refused = {"folds": folds, "model": model, "groups": groups, "engine": other}
            _refuse(refused, "probabilities replace cross-fitting")
            return _of_data_and_probabilities(given, label, class_names, probabilities)
        return _of_data(given, label, class_names, folds, model, groups, seed, on_fit, engine)


def _of_data(
    given: Any,
    label: object,
    class_names: Sequence[str] | None,
    folds: int | None,
    model: object,
    groups: Sequence[object] | np.ndarray | None,
    seed: int,
    on_fit: OnFit,
    engine: str,
) -> DataFrame:
    rows, index = given, None
    if isinstance(given, LabelledData):
        _refuse({"label": label, "class_names": class_names}, "the data have their own labels")
        codes, index = given.label.numpy(), given.index.numpy()
        names: Sequence[Any] = given.class_names
        is_network = isinstance(model, str) and model not in CROSS_FIT_MODELS
        rows = given if is_network else _values(given, model)
    elif label is None:
        raise TypeError("data need their labels: label=...")
    else:
        _refuse({"class_names": class_names}, "the classes of data are those of label")
        codes, names = as_labels(label, "label")
        _check_count(rows, len(codes))
        warn_of_variants(names, "label", stacklevel=4)
        warn_of_order(rows, label, "label", stacklevel=4)
        refuse_labels(columns_as_table(rows), codes, names)
    _check_two_classes(codes, names)
    folds = min(FOLDS, len(codes)) if folds is None else folds
    judged = judge_by_cross_fitting(
        rows,
        codes,
        len(names),
        folds=folds,
        model=model,
        groups=groups,
        seed=seed,
        on_fit=on_fit,
        engine=engine,
    )
    numbers = np.arange(len(codes)) if index is None else index
    found = frame(judged, numbers, names, {"folds": folds})
    take_index(found, given, label)
    return found


def _of_data_and_probabilities(
    given: Any, label: object, class_names: Sequence[str] | None, probabilities: object
) -> DataFrame:
    """The judgement by probabilities, with the index of the data."""
    if isinstance(given, LabelledData):
        _refuse({"label": label, "class_names": class_names}, "the data have their own labels")
        tables = [in_order(one, given.class_names) for one in _tables(probabilities)]
        found = _of_probabilities(tables, given.label.numpy(), given.class_names)
        return found.assign(index=given.index.numpy())
    if label is None:
        raise TypeError("data need their labels: label=...")
    found = _of_probabilities(probabilities, label, class_names)
    _check_count(given, len(found))
    warn_of_order(given, label, "label", stacklevel=4)
    take_index(found, given, label)
    return found


def _values(data: LabelledData, model: object) -> Any:
    if reads_rows(model):
        rows = raw_rows(data.inputs if data.raw is None else data.raw)
        if rows is not None:
            return rows
    if isinstance(data.inputs, RawInputs):
        return data.inputs.values
    if isinstance(data.inputs, (torch.Tensor, np.ndarray)):
        return np.asarray(data.inputs)
    return data.batch(torch.arange(len(data))).input.numpy()


def _check_count(rows: Any, labels: int) -> None:
    count = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if not isinstance(rows, Mapping) and count != labels:
        raise ValueError(f"there are {count:,} rows and {labels:,} labels: one per row is needed")


def _check_two_classes(label: np.ndarray, names: Sequence[Any]) -> None:
    if len(np.unique(label)) < 2:
        raise ValueError(f"all labels are {names[label[0]]!r}: there must be at least two classes")


def _of_probabilities(given: object, label: object, names: Sequence[Any] | None) -> DataFrame:
    if given is None:
        raise TypeError("give data with label=..., a run, or probabilities with label=...")
    passed = _tables(given)
    tables = [as_probabilities(one) for one in passed]
    numbers, classes = match_labels(label, names, passed, tables[0].shape)
    for one in tables:
        check_rows(one)
    judged = _judge_probabilities(tables, numbers)
    about = {"weak": True} if len(numbers) and not predicts(tables, numbers) else {}
    return frame(judged, np.arange(len(numbers)), classes, about)


def _judge_probabilities(tables: Sequence[np.ndarray], label: np.ndarray) -> Judgement:
    if not len(label):
        return Judgement(label, np.empty(0), tables[0])
    return judge([posterior(tables, label)], label)


def _tables(given: object) -> list[object]:
    """A list of tables, from a list, a dict or a single table."""
    if isinstance(given, Mapping):
        return list(given.values())
    several = isinstance(given, (list, tuple)) and len(given) > 0 and np.ndim(given[0]) == 2
    return list(given) if several else [given]  # type: ignore[call-overload]


def _of_run(run: RunFolder | Record, probabilities: object, statistics: bool) -> DataFrame:
    record = run if isinstance(run, Record) else run.record
    if not record.epochs or not len(record):
        raise ValueError(f"{record!r} is empty: train for at least one epoch with record=True")
    judged, weak = _judge_record(record)
    about: dict[str, Any] = {"epochs": record.epochs}
    if probabilities is not None:
        judged = _combined(judged, probabilities, record.class_names)
    else:
        about["weak"] = weak
    index = record.index.numpy()
    if isinstance(run, RunFolder):
        judged, index = _with_validation(judged, index, run.outputs)
    found = frame(judged, index, record.class_names, about)
    for name in available(record) if statistics else ():
        values = STATISTICS[name](record).numpy()
        found[name] = np.concatenate([values, np.full(len(found) - len(values), np.nan)])
    return found


def _judge_record(record: Record) -> tuple[Judgement, bool]:
    """Judge by the epochs between learning and memorisation; also whether that evidence is weak."""
    course = progress(record)
    learned = first_learned_epoch(course)
    begin, end = learned or 0, record.epochs
    if learned is not None and memorises(course, begin):
        end = best_window(record, begin)
    weak = is_weak(course, None if learned is None or learned >= end else begin, end)
    evidence = record_evidence(record, slice(begin, end), weak=weak)
    label, wrong = record.label.numpy(), evidence.wrong.double().numpy()
    true = np.zeros((len(label), record.num_classes), dtype=np.float32)
    rows, other = np.arange(len(label)), evidence.other.numpy()
    true[rows, label] = 1 - np.nan_to_num(wrong)
    true[rows[other >= 0], other[other >= 0]] += np.nan_to_num(wrong)[other >= 0]
    score = label_score(evidence.margin, evidence.suspects).double().numpy()
    return Judgement(label, wrong, true, score), evidence.weak


def _combined(judged: Judgement, probabilities: object, names: Sequence[str]) -> Judgement:
    """Combine the judgement of a record with that of probabilities by Bayes' rule.

    The log odds of the record are shifted by the difference between the other log odds and their mean; rows
    that the record does not contain get the other log odds.
    """
    passed = [in_order(one, names) for one in _tables(probabilities)]
    tables = [as_probabilities(one, *judged.true.shape) for one in passed]
    for one in tables:
        check_rows(one)
    other = _judge_probabilities(tables, judged.label)
    moved = _log_odds(judged.wrong) + _log_odds(other.wrong) - _log_odds(other.wrong.mean())
    odds = np.where(np.isnan(moved), _log_odds(other.wrong), moved)
    return Judgement(judged.label, 1 / (1 + np.exp(-odds)), (judged.true + other.true) / 2)


def _log_odds(value: np.ndarray) -> np.ndarray:
    inside = np.clip(value, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _with_validation(
    judged: Judgement, index: np.ndarray, outputs: Mapping[str, torch.Tensor]
) -> tuple[Judgement, np.ndarray]:
    """Add the validation samples, judged by the predictions of the trained network."""
    if "validation_probability" not in outputs:
        return judged, index
    label, numbers = (outputs[f"validation_{name}"].numpy() for name in ("label", "index"))
    other = _judge_probabilities([outputs["validation_probability"].float().numpy()], label)
    parts = [one._replace(score=score_of(one)) for one in (judged, other)]
    joined = Judgement(*(np.concatenate(pair) for pair in zip(*parts, strict=True)))
    return joined, np.concatenate([index, numbers])


def _refuse(given: dict[str, object], why: str) -> None:
    names = [f"{name}=" for name, value in given.items() if value is not None]
    if names:
        raise TypeError(f"{' and '.join(names)} cannot be used here: {why}")
