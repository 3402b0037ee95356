"""CSV and Parquet tables: rows of numbers, or paths of images, with a column of labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from ..inputs import Inputs
from ..labelled import LabelledData
from ..memory import is_large
from ..root import data_root
from .image_data import image_data
from .split import split_path
from .table_features import feature_array, problem_of_wanted, wanted_columns
from .table_file import read_table, repeated_columns, separator_of, size_in_memory
from .table_labels import TableClasses, column_of
from .table_row_numbers import row_numbers, warn_of_row_numbers
from .table_stream import StreamedTable, streamed_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

Rows: TypeAlias = "pd.DataFrame | StreamedTable"


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
) -> LabelledData:
    """Rows of a .csv or .parquet file.

    ``label`` names the column of labels. The classes are the different labels of the training table, in
    ``label`` or ``clean_label``, each under its own name: whole numbers in their order, text alphabetically.
    So labels 0, 1, 2 are their class numbers, and 1, 2, 3 are three classes as well; floats are refused.

    Inputs are the ``features`` ("a, b, c"; by default every other column, but for those that only number the
    rows of the training table: one in front without a name, or an id) as float32, or the files named in the
    column ``image``, relative to the table. Only an empty field is no value. With a test set:
    ``csv(path="rows_{split}.csv")``. ``label=None`` reads rows without labels, to predict them.

    ``stream=True`` reads the features once, some rows at a time, into a .npy file in the folder ``streams``
    of ``root`` and maps it, so that a table may be larger than memory; labels stay in memory. The next call
    finds that file again unless the table has changed. By default a table is streamed if its file is larger
    than a quarter of the available memory; a compressed file or Parquet counts four times. Values, labels
    and errors are the same either way. Images are always read when asked for.
    """
    labels = [name for name in (label, clean_label) if name is not None]
    place = split_path("csv", path, split)
    training_place = place if label is None else split_path("csv", path, "train")

    def rows_of(file: Path, unused: list[str] | None = None) -> Rows:
        if image is None and (is_large(size_in_memory(file)) if stream is None else stream):
            return streamed_table(file, labels, features, data_root() if root is None else root, unused)
        return read_table(file)

    for file in dict.fromkeys((training_place, place)):
        refuse_repeated(file, [*labels, *([] if image is None else [image])])
    training = rows_of(training_place)
    unused = _row_numbers(training, features, labels)
    rows = training if place == training_place else rows_of(place, unused)
    classes = TableClasses(training, labels, training_place)
    numbers = classes.numbers(rows, label, place)
    clean = None if clean_label is None else classes.numbers(rows, clean_label, place)
    if image is not None:
        files = [str(place.parent / str(file)) for file in column_of(rows, image, place)]
        truth = None if clean is None else clean.tolist()
        rest: dict[str, Any] = {"mode": mode, "size": size, "on_error": on_error, "clean_labels": truth}
        return image_data(files, numbers.tolist(), classes.names, name="csv", **rest)
    wanted = wanted_columns([str(name) for name in rows.columns], features, labels, unused)
    if rows is training:
        warn_of_row_numbers(unused, place)
    return LabelledData(
        _inputs(rows, wanted, features, labels, place),
        numbers,
        clean_label=clean,
        class_names=classes.names,
        name="csv",
        columns=wanted,
    )


def refuse_repeated(place: Path, named: list[str]) -> None:
    """ValueError where the header has a label twice: as a feature the second column would tell the label."""
    twice = repeated_columns(place)
    wrong = [name for name in twice if name in named or separator_of(place) is None]
    if wrong:
        raise ValueError(
            f"{place}: the column {wrong[0]!r} occurs more than once in the header: rename or remove one"
        )


def _row_numbers(training: Rows, features: str | None, labels: list[str]) -> list[str]:
    """Columns that count the rows of the training table and are not asked for."""
    if isinstance(training, StreamedTable):
        return training.unused
    if features is not None:
        return []
    return row_numbers([training], wanted_columns([str(name) for name in training.columns], None, labels))


def _inputs(rows: Rows, wanted: list[str], features: str | None, labels: list[str], place: Path) -> Inputs:
    if isinstance(rows, StreamedTable):
        return rows.inputs()
    problem = problem_of_wanted(wanted, features, labels, place)
    if problem is not None:
        raise problem
    from_text = separator_of(place) is not None
    return torch.from_numpy(feature_array(rows, wanted, place, from_text=from_text))
