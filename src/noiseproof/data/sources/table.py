"""CSV and Parquet tables: rows of numbers, or paths of images, with a column of labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...grammar import nearest
from ..labelled import LabelledData
from .image_data import image_data
from .split import split_path
from .table_file import read_table

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

    ``label`` names the column of labels: whole numbers are class numbers, text is numbered alphabetically
    by the labels of the training table. Inputs are the ``features`` ("a, b, c"; by default every other
    column) as float32, or the files named in the column ``image``, relative to the table. With a test
    set: ``csv(path="rows_{split}.csv")``.
    """
    place = split_path("csv", path, split)
    rows = read_table(place)
    reference = rows if split == "train" else read_table(split_path("csv", path, "train"))
    names = _class_names(_column(reference, label, place), _column(rows, label, place))
    numbers = _numbers(rows, label, names, place)
    if image is not None:
        files = [str(place.parent / str(file)) for file in _column(rows, image, place)]
        return image_data(files, numbers.tolist(), names, name="csv", mode=mode, size=size, on_error=on_error)
    clean = None if clean_label is None else _numbers(rows, clean_label, names, place)
    wanted = _wanted(rows, features, [label, clean_label])
    return LabelledData(
        _numeric(rows, wanted, place), numbers, clean_label=clean, class_names=names, name="csv"
    )


def _column(rows: pd.DataFrame, name: str, place: Path) -> pd.Series[Any]:
    if name not in rows.columns:
        raise ValueError(f"{place}: unknown column {name!r}{nearest(name, [str(c) for c in rows.columns])}")
    column = rows[name]
    if column.isna().any():
        raise ValueError(f"{place}: row {int(column.isna().to_numpy().argmax())} has no value for {name!r}")
    return column


def _class_names(reference: pd.Series[Any], labels: pd.Series[Any]) -> list[str]:
    """Names in the order of their numbers."""
    if reference.dtype.kind in "iub":
        largest = max(int(reference.max()), int(labels.max()) if labels.dtype.kind in "iub" else 0)
        return [str(number) for number in range(largest + 1)]
    return sorted({str(value) for value in reference})


def _numbers(rows: pd.DataFrame, name: str, names: list[str], place: Path) -> NDArray[np.int64]:
    column = _column(rows, name, place)
    if column.dtype.kind == "f":
        raise TypeError(
            f"{place}: the labels in {name!r} are floats, such as {column.iloc[0]}: use integers or text"
        )
    if column.dtype.kind in "iub":
        return np.asarray(column, dtype=np.int64)
    number = {text: position for position, text in enumerate(names)}
    found = np.array([number.get(str(value), -1) for value in column], np.int64)
    if (found < 0).any():
        where = int((found < 0).argmax())
        raise ValueError(
            f"{place}: row {where} has the label {column.iloc[where]!r}, no class of the training table"
        )
    return found


def _wanted(rows: pd.DataFrame, features: str | None, labels: list[str | None]) -> list[str]:
    if features is None:
        return [str(name) for name in rows.columns if name not in labels]
    return [name.strip() for name in features.split(",")]


def _numeric(rows: pd.DataFrame, wanted: list[str], place: Path) -> Tensor:
    if not wanted:
        raise ValueError(f"{place}: there is no column beside the labels")
    for name in wanted:
        if _column(rows, name, place).dtype.kind not in "iubf":
            raise TypeError(
                f"{place}: column {name!r} is not numeric: name the numeric columns with features=..., or"
                " the column of image files with image=..."
            )
    return torch.from_numpy(rows[wanted].to_numpy(dtype=np.float32, copy=True))
