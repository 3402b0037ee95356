"""CSV and Parquet tables: rows of any columns, or paths of images, with a column of labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...features import Features
from ...features.labels import warn_of_variants
from ...grammar import nearest
from ...memory import is_large
from ..class_labels import MAX_CLASSES
from ..inputs import RawInputs
from ..labelled import LabelledData
from ..locations import NoSplitError, data_root, split_path
from .folder import image_data
from .table_file import (
    fitted_features,
    read_in_chunks,
    read_table,
    repeated_columns,
    separator_of,
    size_in_memory,
    streamed_features,
    table_columns,
)

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def table(
    *,
    path: str,
    root: Path | None = None,
    split: str = "train",
    label: str | None = "label",
    clean_label: str | None = None,
    features: str | None = None,
    image: str | None = None,
    size: int | None = None,
    mode: str = "RGB",
    on_error: str = "raise",
    stream: bool | None = None,
    embedding: str | None = None,
    fitted: Features | None = None,
) -> LabelledData:
    """Rows of a .csv or .parquet file.

    ``label`` is the column of labels. The classes are the unique labels of the training table, in ``label``
    or ``clean_label``: whole numbers in their order, text alphabetically. So labels 0, 1, 2 are their class
    numbers, and 1, 2, 3 are three classes as well.

    Inputs are the columns ``features`` ("a, b, c"; by default all other columns) of numbers, categories,
    dates, truth values or text, or the image files in the column ``image``, relative to the table. Training
    fits ``noiseproof.features.Features`` on its rows; columns that identify rows are left out unless they
    are in ``features``. With a test set: ``csv(path="rows_{split}.csv")``. ``label=None`` reads rows without
    labels, for prediction. ``embedding`` is the folder of a sentence-transformers model for text columns.

    ``stream=True`` fits the features on a sample of the training table, writes the encoded rows to a file in
    the folder ``streams`` of ``root`` and maps it, so that a table may be larger than memory; labels are in
    memory. The file is reused unless a table has changed. By default, tables are streamed if one is larger
    than a quarter of the available memory; compressed and Parquet files count four times. ``fitted`` are the
    features of a run, for prediction. Images are always read on demand.
    """
    labels = [name for name in (label, clean_label) if name is not None]
    source = split_path("csv", path, split)
    training_file = source if label is None else split_path("csv", path, "train")
    for file in dict.fromkeys((training_file, source)):
        refuse_repeated_columns(file, [*labels, *([] if image is None else [image])])
    wanted = None if features is None else [name.strip() for name in features.split(",")]
    settings = {"drop_ids": wanted is None, "embedding": embedding}
    if image is None and (_one_is_large(path, source) if stream is None else stream):
        request = _Request(
            label, clean_label, wanted, settings, data_root() if root is None else root, fitted
        )
        return _streamed(source, training_file, request)
    as_text = [] if fitted is None else fitted.text_inputs
    training = read_table(training_file, as_text)
    rows = training if source == training_file else read_table(source)
    classes = TableClasses(training, labels, training_file)
    numbers = classes.numbers(rows, label, source)
    clean = None if clean_label is None else classes.numbers(rows, clean_label, source)
    if image is not None:
        files = [str(source.parent / str(file)) for file in column_of(rows, image, source)]
        truth = None if clean is None else clean.tolist()
        rest: dict[str, Any] = {"mode": mode, "size": size, "on_error": on_error, "clean_labels": truth}
        return image_data(files, numbers.tolist(), classes.names, name="csv", **rest)
    rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    inputs = RawInputs(rows[_chosen(rows.columns, wanted, labels, source)], **settings)
    return LabelledData(inputs, numbers, clean_label=clean, class_names=classes.names, name="csv")


class _Request(NamedTuple):
    """Options of a streamed table."""

    label: str | None
    clean_label: str | None
    wanted: list[str] | None
    settings: dict[str, Any]
    root: Path
    fitted: Features | None


def _streamed(source: Path, training_file: Path, request: _Request) -> LabelledData:
    """Data with labels in memory, and encoded rows in a mapped file."""
    labels = [name for name in (request.label, request.clean_label) if name is not None]
    how: dict[str, Any] = {"class_names": ["unlabelled"], "name": "csv"}
    numbers = None
    if labels:
        for file in (training_file, source):
            if missing := [name for name in labels if name not in table_columns(file)]:
                raise unknown_column(file, missing[0], table_columns(file), label=True)
        training = read_in_chunks(training_file, labels)
        rows = training if source == training_file else read_in_chunks(source, labels)
        classes = TableClasses(training, labels, training_file)
        numbers = classes.numbers(rows, request.label, source)
        clean = None if request.clean_label is None else classes.numbers(rows, request.clean_label, source)
        how |= {"clean_label": clean, "class_names": classes.names}
    features = request.fitted
    if features is None:
        names = _chosen(table_columns(training_file), request.wanted, labels, training_file)
        features = fitted_features(training_file, names, request.root, request.settings)
    mapped = streamed_features(source, features, request.root)
    given = np.zeros(len(mapped), np.int64) if numbers is None else numbers
    return LabelledData(mapped, given, columns=features.names, features=features, **how)


def refuse_repeated_columns(source: Path, named: list[str]) -> None:
    """ValueError if a column of labels occurs twice, so that the second one would be a feature."""
    twice = repeated_columns(source)
    wrong = [name for name in twice if name in named or separator_of(source) is None]
    if wrong:
        raise ValueError(
            f"{source}: the column {wrong[0]!r} occurs more than once in the header: rename or remove one"
        )


def _one_is_large(path: str, source: Path) -> bool:
    """Whether the table of any split is large; both must have the same features."""
    places = {source}
    for split in ("train", "test"):
        try:
            places.add(split_path("csv", path, split))
        except NoSplitError:
            continue
    return any(is_large(size_in_memory(file)) for file in places)


def _chosen(columns: Sequence[str], wanted: list[str] | None, labels: list[str], source: Path) -> list[str]:
    """Names of the columns that are features."""
    names = [name for name in columns if name not in labels] if wanted is None else wanted
    for name in names:
        if name in labels:
            given = ", ".join(names)
            raise ValueError(f"{source}: features={given!r} contains the labels, {name!r}: leave it out")
        if name not in columns:
            raise unknown_column(source, name, columns)
    if not names:
        raise ValueError(f"{source}: the table has no column besides the label")
    return names


MIN_ROWS = 20
"""With fewer rows, many classes are plausible."""


def column_of(rows: pd.DataFrame, name: str, source: Path) -> pd.Series[Any]:
    """A column; ValueError if it has missing values."""
    if name not in rows.columns:
        raise unknown_column(source, name, rows.columns)
    column = rows[name]
    if column.isna().any():
        raise missing_value(source, name, int(column.isna().to_numpy().argmax()))
    return column


def unknown_column(source: Path, name: str, columns: Iterable[object], *, label: bool = False) -> ValueError:
    more = "; name the column of labels: label=..." if label else ""
    return ValueError(f"{source}: unknown column {name!r}{nearest(name, [str(c) for c in columns])}{more}")


def missing_value(source: Path, name: str, row: int) -> ValueError:
    return ValueError(f"{source}: row {row} has no value for {name!r}: fill it in or leave the row out")


class TableClasses:
    """Classes of a training table, from its labels and clean labels.

    Every unique label is a class: whole numbers in their order, text alphabetically. Labels 1, 2, 3 are three
    classes with these names, and so are labels 0, 2, 5; truth values are False and True. Without labels, all
    rows have the same class.
    """

    def __init__(self, training: pd.DataFrame, columns: list[str], source: Path) -> None:
        self.names: list[str] = ["unlabelled"]
        if not columns:
            return
        labels = [_labels(training, name, source) for name in columns]
        self.numeric = all(column.dtype.kind in "iub" for column in labels)
        if self.numeric:
            for name, column in zip(columns, labels, strict=True):
                _check_range(column, name, source)
            self.values = np.unique(np.concatenate([np.asarray(column, np.int64) for column in labels]))
            truths = all(column.dtype.kind == "b" for column in labels)
            self.names = [str(value == 1 if truths else value) for value in self.values]
        else:
            self.names = sorted({str(value) for column in labels for value in column})
            warn_of_variants(self.names, str(source), stacklevel=4)
        if MIN_ROWS <= len(labels[0]) < 2 * len(self.names):
            counts = f"{len(labels[0])} rows have {len(self.names)} different labels"
            warnings.warn(f"{source}: {counts}: is {columns[0]!r} an id?", stacklevel=4)

    def numbers(self, rows: pd.DataFrame, name: str | None, source: Path) -> NDArray[np.int64]:
        """Class numbers of a column; ValueError for a label that is not a class of the training table."""
        if name is None:
            return np.zeros(len(rows), np.int64)
        column = _labels(rows, name, source)
        if self.numeric and column.dtype.kind in "iub":
            numbers = np.asarray(column, np.int64)
            found = np.searchsorted(self.values, numbers).clip(max=len(self.values) - 1)
            unknown = self.values[found] != numbers
        else:
            number = {text: position for position, text in enumerate(self.names)}
            found = np.array([number.get(str(value), -1) for value in column], np.int64)
            unknown = found < 0
        if unknown.any():
            row = int(unknown.argmax())
            label = column.iloc[row] if column.dtype.kind in "iub" else repr(column.iloc[row])
            raise ValueError(
                f"{source}: row {row} has the label {label} in {name!r}, which is not a class in training"
            )
        return found


def _labels(rows: pd.DataFrame, name: str, source: Path) -> pd.Series[Any]:
    if name not in rows.columns:
        raise unknown_column(source, name, rows.columns, label=True)
    column = column_of(rows, name, source)
    if column.dtype.kind == "f" and (column == column.round()).all():
        return column.astype(np.int64)
    if column.dtype.kind == "f":
        odd = column[column != column.round()].iloc[0]
        raise TypeError(
            f"{source}: the labels in {name!r} have fractions, such as {odd}: use integers or text,"
            " regression is not supported"
        )
    return column


def _check_range(column: pd.Series[Any], name: str, source: Path) -> None:
    values = np.asarray(column)
    row = int(values.argmin())
    if values[row] < 0 and set(np.unique(values)) != {-1, 1}:
        raise ValueError(
            f"{source}: row {row} has the label {values[row]} in {name!r}, below 0: leave the row out if"
            " that means no label, else number the classes from 0, or use text"
        )
    row = int(values.argmax())
    if values[row] >= MAX_CLASSES:
        raise ValueError(
            f"{source}: row {row} has the label {values[row]} in {name!r}, above {MAX_CLASSES - 1}: is"
            " this an id? number the classes, or use text"
        )
