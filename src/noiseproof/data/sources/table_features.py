"""Columns of features to float32, and what is said of columns that are none."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .table_labels import column_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

NUMBERS = "iubf"
FEWEST_STEPS = 16


def wanted_columns(
    columns: Sequence[str], features: str | None, labels: list[str], unused: Sequence[str] = ()
) -> list[str]:
    """Those named in ``features``, or all that hold no labels and are not ``unused``.

    Example:
        >>> wanted_columns(["a", "b", "label"], None, ["label"])
        ['a', 'b']
        >>> wanted_columns(["a", "b", "label"], "b, a", ["label"])
        ['b', 'a']
    """
    if features is None:
        return [name for name in columns if name not in labels and name not in unused]
    return [name.strip() for name in features.split(",")]


def problem_of_wanted(
    wanted: list[str], features: str | None, labels: list[str], place: Path
) -> ValueError | None:
    """Labels among the features, or no features."""
    for name in wanted:
        if name in labels:
            return ValueError(
                f"{place}: features={features!r} holds the column of labels {name!r}: leave it out"
            )
    return None if wanted else ValueError(f"{place}: there is no column beside the labels")


def feature_array(
    rows: pd.DataFrame, wanted: list[str], place: Path, *, from_text: bool
) -> NDArray[np.float32]:
    """Features of a whole table, (rows, columns); the first column that is not numeric is named."""
    numbers = {}
    for name in wanted:
        column = column_of(rows, name, place)
        numbers[name] = as_numbers(column, from_text=from_text)
        if numbers[name].dtype.kind not in NUMBERS:
            where = first_no_number(column) or 0
            raise not_numeric(place, name, where, column.iloc[where])
    block = as_float32(numbers, wanted)
    if (large := first_too_large(numbers, wanted, block)) is not None:
        raise too_large(place, *large)
    _warn_of_lost_digits(numbers, place)
    return block


def _warn_of_lost_digits(columns: dict[str, pd.Series[Any]], place: Path) -> None:
    """Columns that vary by less than float32 can tell apart, such as times in seconds since 1970."""
    for name, column in columns.items():
        values = column.to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            continue
        step, spread = float(np.spacing(np.float32(np.abs(values).max()))), float(values.std())
        if 0 < spread < FEWEST_STEPS * step:
            warnings.warn(
                f"{place}: column {name!r} varies by {spread:.3g} around {values.mean():.6g}, where float32"
                f" has steps of {step:.3g}: take a constant off it first",
                stacklevel=4,
            )


def first_too_large(
    columns: Any, wanted: list[str], block: NDArray[np.float32]
) -> tuple[str, int, float] | None:
    """Column, row and value of the first that is finite, but not in float32."""
    for row, position in np.argwhere(np.isinf(block)).tolist():
        value = float(columns[wanted[position]].iloc[row])
        if np.isfinite(value):
            return wanted[position], row, value
    return None


def as_float32(columns: Any, wanted: list[str]) -> NDArray[np.float32]:
    """Through float64, so that whole numbers round the same whether or not others have a fraction."""
    block = np.empty((len(columns[wanted[0]]), len(wanted)), np.float32)
    with np.errstate(over="ignore"):  # too large a value becomes infinite, which is then looked for
        for position, name in enumerate(wanted):
            block[:, position] = columns[name].to_numpy(dtype=np.float64)
    return block


def as_numbers(column: pd.Series[Any], *, from_text: bool) -> pd.Series[Any]:
    """The column, where pandas left it as text because a whole number has more than 64 bits as floats."""
    if not from_text or column.dtype.kind in NUMBERS:
        return column
    floats = _floats(column)
    return column if floats.isna().any() else floats


def first_no_number(column: pd.Series[Any]) -> int | None:
    """Position of the first value that is no number."""
    stray = _floats(column).isna().to_numpy()
    return int(stray.argmax()) if stray.any() else None


def _floats(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers of a column of text, NaN where a value is none."""
    import pandas as pd  # type: ignore[import-untyped]

    try:
        return pd.to_numeric(column, errors="coerce")
    except OverflowError:  # of a whole number that no float64 can hold
        return column.map(_float).astype(np.float64)


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")


def not_numeric(place: Path, name: str, where: int, value: object) -> TypeError:
    return TypeError(
        f"{place}: column {name!r} is not numeric, row {where} holds {value!r}: name the"
        " numeric columns with features=..., or the column of image files with image=..."
    )


def too_large(place: Path, name: str, where: int, value: float) -> ValueError:
    return ValueError(
        f"{place}: column {name!r} holds {value:g} in row {where}, but networks compute in float32, which"
        f" ends at {np.finfo(np.float32).max:.3g}: scale the column, or leave it out with features=..."
    )
