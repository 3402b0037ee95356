"""CSV and Parquet tables: rows of numbers, or paths of images, with a column of labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..labelled import LabelledData
from .image_data import image_data
from .split import split_path
from .table_file import read_table
from .table_labels import TableClasses, column_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def table(
    *,
    path: str,
    root: Path | None = None,
    split: str = "train",
    label: str = "label",
    clean_label: str | None = None,
    features: str | None = None,
    image: str | None = None,
    size: int | None = None,
    mode: str = "RGB",
    on_error: str = "raise",
) -> LabelledData:
    """Rows of a .csv or .parquet file.

    ``label`` names the column of labels: whole numbers are class numbers, text is numbered alphabetically.
    The classes are those of the training table, in ``label`` or ``clean_label``. Inputs are the ``features``
    ("a, b, c"; by default every other column) as float32, or the files named in the column ``image``,
    relative to the table. Only an empty field is no value. With a test set:
    ``csv(path="rows_{split}.csv")``.
    """
    place = split_path("csv", path, split)
    rows = read_table(place)
    training_place = split_path("csv", path, "train")
    training = rows if split == "train" else read_table(training_place)
    columns = [label] if clean_label is None else [label, clean_label]
    classes = TableClasses(training, columns, training_place)
    numbers = classes.numbers(rows, label, place)
    clean = None if clean_label is None else classes.numbers(rows, clean_label, place)
    if image is not None:
        files = [str(place.parent / str(file)) for file in column_of(rows, image, place)]
        return image_data(
            files,
            numbers.tolist(),
            classes.names,
            name="csv",
            mode=mode,
            size=size,
            on_error=on_error,
            clean_labels=None if clean is None else clean.tolist(),
        )
    inputs = _numeric(rows, _wanted(rows, features, columns, place), place)
    return LabelledData(inputs, numbers, clean_label=clean, class_names=classes.names, name="csv")


def _wanted(rows: pd.DataFrame, features: str | None, labels: list[str], place: Path) -> list[str]:
    if features is None:
        return [str(name) for name in rows.columns if name not in labels]
    wanted = [name.strip() for name in features.split(",")]
    for name in wanted:
        if name in labels:
            raise ValueError(
                f"{place}: features={features!r} holds the column of labels {name!r}: leave it out"
            )
    return wanted


def _numeric(rows: pd.DataFrame, wanted: list[str], place: Path) -> Tensor:
    if not wanted:
        raise ValueError(f"{place}: there is no column beside the labels")
    for name in wanted:
        column = column_of(rows, name, place)
        if column.dtype.kind not in "iubf":
            where = _first_no_number(column)
            raise TypeError(
                f"{place}: column {name!r} is not numeric, row {where} holds {column.iloc[where]!r}: name the"
                " numeric columns with features=..., or the column of image files with image=..."
            )
    return torch.from_numpy(rows[wanted].to_numpy(dtype=np.float32, copy=True))


def _first_no_number(column: pd.Series[Any]) -> int:
    import pandas as pd  # type: ignore[import-untyped]

    return int(pd.to_numeric(column, errors="coerce").isna().to_numpy().argmax())
