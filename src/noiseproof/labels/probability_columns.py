"""Match given labels with the columns of probabilities."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from ..features import as_labels
from ..features.labels import warn_of_order
from ..features.recognise import as_numpy
from ..grammar import listed


class Matched(NamedTuple):
    """Labels and the classes of the columns."""

    label: np.ndarray
    """(N,) int64, the number of the column of each label."""
    classes: list[Any]
    """Of each column, of the type of the labels."""


def match_labels(
    label: Any, class_names: Sequence[Any] | None, passed: Sequence[Any], shape: tuple[int, int]
) -> Matched:
    """Find the column of each label.

    Args:
        label: class numbers, which are column numbers, or classes of any type.
        class_names: of the columns.
        passed: the tables of probabilities as the user gave them; the columns of a DataFrame name the classes
            if all labels are among them.
        shape: of the tables.

    Example:
        >>> match_labels(["b", "a"], None, [], (2, 2)), match_labels([0.0, 1.0], ["a", "b"], [], (2, 2))
        (Matched(label=array([1, 0]), classes=['a', 'b']), Matched(label=array([0, 1]), classes=['a', 'b']))
        >>> match_labels([20, 10], [10, 20], [], (2, 2))
        Matched(label=array([1, 0]), classes=[10, 20])
    """
    samples, count = shape
    if label is None:
        raise TypeError("probabilities without a run need the given labels: pass label=...")
    array = as_numpy(label) if isinstance(label, Tensor) else np.asarray(label)
    if array.shape != (samples,):
        raise ValueError(f"label must have shape {(samples,)}, as probabilities, got {array.shape}")
    names = None if class_names is None else _checked(class_names, count)
    columns = _columns(passed, names)
    if not samples:
        return Matched(np.empty(0, np.int64), list(range(count)) if names is None else names)
    for table in passed:
        warn_of_order(table, label, "label", stacklevel=5, rows="probabilities")
    codes, values = as_labels(label, "label")
    if all(type(value) in (int, float) and value == int(value) for value in values):
        return _match_numbers(codes, list(map(int, values)), names, columns, count)
    if names is None and columns is not None and set(map(str, values)) & set(map(str, columns)):
        return _match_names(codes, values, columns, "the columns of probabilities")
    if names is not None:
        return _match_names(codes, values, names, "class_names")
    if len(values) != count:
        raise ValueError(
            f"probabilities have {count} columns, but the number of classes in label is {len(values)}: give"
            " class_names=..., one per column"
        )
    _warn_of_categories(label, values)
    return Matched(codes, values)


def in_order(table: Any, names: Sequence[str]) -> Any:
    """The table with its columns in the order of the names, if these are its columns."""
    columns = list(map(str, getattr(table, "columns", [])))
    if columns == list(names) or sorted(columns) != sorted(names):
        return table
    return np.asarray(table)[:, [columns.index(name) for name in names]]


def _checked(names: Sequence[Any], count: int) -> list[Any]:
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"class_names must be {count} names, one per column of probabilities, got {names!r}")
    _refuse_duplicates(names, "class_names")
    return list(names)


def _refuse_duplicates(names: Sequence[Any], what: str) -> None:
    ((name, times),) = Counter(map(str, names)).most_common(1) or [("", 0)]
    if times > 1:
        raise ValueError(f"{what} must be different, but {name!r} occurs {times} times")


def _columns(passed: Sequence[Any], names: list[Any] | None) -> list[Any] | None:
    """The names of the columns of DataFrames, None if there are none."""
    found = [list(table.columns) for table in passed if hasattr(table, "columns")]
    found = [columns for columns in found if columns != list(range(len(columns)))]
    if not found:
        return None
    first = found[0]
    if any(list(map(str, columns)) != list(map(str, first)) for columns in found):
        raise ValueError(
            "tables of probabilities have different columns, or the same in different orders: give all the"
            " same columns"
        )
    _refuse_duplicates(first, "the columns of probabilities")
    texts, wanted = list(map(str, first)), list(map(str, first if names is None else names))
    if texts != wanted and sorted(texts) == sorted(wanted):
        raise ValueError(
            f"class_names are {listed(wanted)}, but the columns of probabilities are {listed(texts)}: give"
            " class_names in the order of the columns, or leave them out"
        )
    return first


def _match_numbers(
    codes: np.ndarray, values: list[int], names: list[Any] | None, columns: list[Any] | None, count: int
) -> Matched:
    """By value if the columns are named by numbers that include all labels, otherwise by position."""
    has_text = names is not None and any(isinstance(name, str) for name in names)
    numbers = None if has_text else _whole(columns if names is None else names)
    if numbers is not None and set(values) <= set(numbers):
        if numbers != list(range(count)) and set(values) <= set(range(count)):
            warnings.warn(
                f"label is read as the names of the columns, {listed(list(map(str, numbers)))}, not as column"
                " numbers from 0: give class_names of type str if it holds these",
                stacklevel=5,
            )
        return Matched(np.array([numbers.index(value) for value in values])[codes], numbers)
    is_column = np.array([0 <= value < count for value in values])
    if not is_column.all():
        row = int(np.flatnonzero(~is_column[codes])[0])
        raise ValueError(
            f"label[{row}] = {values[codes[row]]} is not a valid class: choose 0 to {count - 1}, the numbers"
            " of the columns, or give class_names=..., one per column"
        )
    return Matched(np.array(values, np.int64)[codes], list(range(count)) if names is None else names)


def _match_names(codes: np.ndarray, values: list[Any], names: list[Any], source: str) -> Matched:
    numbers = {str(name): number for number, name in enumerate(names)}
    if unknown := [value for value in values if str(value) not in numbers]:
        raise ValueError(f"label {unknown[0]!r} is not among {source}: {listed(list(numbers))}")
    given = {str(value): value for value in values}
    label = np.array([numbers[str(value)] for value in values], np.int64)[codes]
    return Matched(label, [given.get(str(name), name) for name in names])


def _whole(names: Sequence[Any] | None) -> list[int] | None:
    """Names as whole numbers, None if they are not."""
    try:
        values = [float(str(name)) for name in names or ()]
    except ValueError:
        return None
    return [int(value) for value in values] if values and all(map(float.is_integer, values)) else None


def _warn_of_categories(label: Any, values: list[Any]) -> None:
    """Warn of a Categorical whose order is not that in which unnamed columns are read."""
    categories = getattr(getattr(label, "dtype", None), "categories", None)
    ordered = [] if categories is None else [name for name in categories.tolist() if name in values]
    if ordered and ordered != values:
        own, read = (listed(list(map(str, names))) for names in (ordered, values))
        warnings.warn(
            f"label has the categories {own}, but unnamed columns of probabilities are read in the sorted"
            f" order {read}: give class_names=... in the order of the columns",
            stacklevel=5,
        )
