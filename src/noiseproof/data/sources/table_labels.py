"""Columns of labels to class numbers; the training table alone says which classes there are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...grammar import nearest
from ..class_labels import MOST_CLASSES

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

SHOWN = 4
FEWEST_ROWS = 20
"""Fewer may well have as many classes."""


def column_of(rows: pd.DataFrame, name: str, place: Path) -> pd.Series[Any]:
    """A column without gaps."""
    if name not in rows.columns:
        raise unknown_column(place, name, rows.columns)
    column = rows[name]
    if column.isna().any():
        raise no_value(place, name, int(column.isna().to_numpy().argmax()))
    return column


def unknown_column(place: Path, name: str, columns: Iterable[object], *, label: bool = False) -> ValueError:
    more = "; name the column of labels: label=..." if label else ""
    return ValueError(f"{place}: unknown column {name!r}{nearest(name, [str(c) for c in columns])}{more}")


def no_value(place: Path, name: str, row: int) -> ValueError:
    return ValueError(f"{place}: row {row} has no value for {name!r}: fill it in or leave the row out")


class TableClasses:
    """Classes of a training table, from its labels and, where there are some, its clean labels.

    Every different label is a class: whole numbers in their order, text alphabetically. Labels 1, 2, 3 are
    three classes of these names, labels 0, 2, 5 too; a number that no row has is none. Without a column of
    labels there is one class, which every row has.
    """

    def __init__(self, training: pd.DataFrame, columns: list[str], place: Path) -> None:
        self.names: list[str] = ["unlabelled"]
        if not columns:
            return
        labels = [_labels(training, name, place) for name in columns]
        self.numeric = all(column.dtype.kind in "iub" for column in labels)
        if self.numeric:
            for name, column in zip(columns, labels, strict=True):
                _check_range(column, name, place)
            self.values = np.unique(np.concatenate([np.asarray(column, np.int64) for column in labels]))
            self.names = [str(value) for value in self.values]
        else:
            self.names = sorted({str(value) for column in labels for value in column})
            _warn_of_variants(self.names, place)
        if FEWEST_ROWS <= len(labels[0]) < 2 * len(self.names):
            have = f"{len(labels[0])} rows have {len(self.names)} different labels"
            warnings.warn(f"{place}: {have}: is {columns[0]!r} an id?", stacklevel=4)

    def numbers(self, rows: pd.DataFrame, name: str | None, place: Path) -> NDArray[np.int64]:
        """Class numbers of a column; a label that is not a class of the training table is named."""
        if name is None:
            return np.zeros(len(rows), np.int64)
        column = _labels(rows, name, place)
        if self.numeric and column.dtype.kind in "iub":
            asked = np.asarray(column, np.int64)
            found = np.searchsorted(self.values, asked).clip(max=len(self.values) - 1)
            stray = self.values[found] != asked
        else:
            number = {text: position for position, text in enumerate(self.names)}
            found = np.array([number.get(str(value), -1) for value in column], np.int64)
            stray = found < 0
        if stray.any():
            where = int(stray.argmax())
            label = column.iloc[where] if column.dtype.kind in "iub" else repr(column.iloc[where])
            raise ValueError(
                f"{place}: row {where} has the label {label} in {name!r}, no class of the training table"
            )
        return found


def _warn_of_variants(names: list[str], place: Path) -> None:
    """Names that differ in spaces and case alone are as a rule one class, typed by several people."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(" ".join(name.split()).casefold(), []).append(name)
    found = [variants for variants in alike.values() if len(variants) > 1]
    if found:
        words = "; ".join(" and ".join(map(repr, variants)) for variants in found[:SHOWN])
        warnings.warn(
            f"{place}: classes whose names differ only in spaces or case: {words}"
            f"{' ...' if len(found) > SHOWN else ''}; write them alike if they are one",
            stacklevel=4,
        )


def _labels(rows: pd.DataFrame, name: str, place: Path) -> pd.Series[Any]:
    if name not in rows.columns:
        raise unknown_column(place, name, rows.columns, label=True)
    column = column_of(rows, name, place)
    if column.dtype.kind == "f" and (column == column.round()).all():
        return column.astype(np.int64)
    if column.dtype.kind == "f":
        odd = column[column != column.round()].iloc[0]
        raise TypeError(
            f"{place}: the labels in {name!r} have fractions, such as {odd}: use integers or text,"
            " regression is not supported"
        )
    return column


def _check_range(column: pd.Series[Any], name: str, place: Path) -> None:
    values = np.asarray(column)
    where = int(values.argmin())
    if values[where] < 0 and set(np.unique(values)) != {-1, 1}:
        raise ValueError(
            f"{place}: row {where} has the label {values[where]} in {name!r}, below 0: leave the row out if"
            " that means no label, else number the classes from 0, or use text"
        )
    where = int(values.argmax())
    if values[where] >= MOST_CLASSES:
        raise ValueError(
            f"{place}: row {where} has the label {values[where]} in {name!r}, above {MOST_CLASSES - 1}: is"
            " this an id? number the classes, or use text"
        )
