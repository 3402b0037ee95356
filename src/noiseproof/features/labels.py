"""Convert labels of any type to class numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .recognise import as_numpy, recognise, without_mask

COLLECTIONS = (list, tuple, set, frozenset, dict, np.ndarray)
COMPARED_FIRST = 100
"""Number of rows that are compared before all rows."""
SHOWN_VARIANTS = 4
NO_LABEL = {"", "?", "nan", "na", "n/a", "#n/a", "<na>", "nat", "null"}
"""Class names, in lower case, that are probably missing labels; "none" is often a class."""


def as_labels(y: object, name: str = "y") -> tuple[NDArray[np.int64], list[Any]]:
    """Class number of each label, and the classes: the unique labels in the sort order of scikit-learn.

    Labels may be strings, integers, bools, integral floats, dates or a pandas Categorical; the classes keep
    their type. Missing labels, floats with a fraction and truth values among numbers are refused.

    Example:
        >>> as_labels(["dog", "cat", "dog"])
        (array([1, 0, 1]), ['cat', 'dog'])
        >>> as_labels([1, 3, 1])[1], as_labels([True, False])[1]
        ([1, 3], [False, True])
        >>> as_labels(["cat", None])
        Traceback (most recent call last):
        ValueError: y[1] is missing (None): every row needs a label; leave the row out
    """
    import pandas as pd  # type: ignore[import-untyped]

    values = _one_column(y, name)
    column = pd.Series(values) if values.dtype.kind in "iubfMm" else pd.Series(values, dtype=object)
    missing = column.isna().to_numpy()
    if missing.any():
        row, count = int(missing.argmax()), int(missing.sum())
        out = "leave the row out" if count == 1 else f"leave out the {count:,} rows without one"
        raise ValueError(f"{name}[{row}] is missing ({column.iloc[row]}): every row needs a label; {out}")
    _refuse_values(values, name)
    codes, found = pd.factorize(column, use_na_sentinel=False)
    classes = found.tolist()
    order = _sorted_positions(classes)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], [classes[position] for position in order]


def _refuse_values(values: NDArray[Any], name: str) -> None:
    """ValueError for values that cannot be classes."""
    kinds = {values.dtype.type} if values.dtype != object else set(map(type, values))
    _refuse_mixture(values, kinds, name)
    if not any(issubclass(kind, (float, np.floating)) for kind in kinds):
        return
    floats = values
    if values.dtype == object:
        floats = np.array([value if isinstance(value, (float, np.floating)) else 0.0 for value in values])
    invalid = ~np.isfinite(floats) | (floats != np.round(floats))
    if invalid.any():
        row = int(invalid.argmax())
        what = "has a fraction" if np.isfinite(floats[row]) else "is infinite"
        raise ValueError(
            f"{name}[{row}] = {floats[row]} {what}:"
            " class labels must be text or whole numbers, not continuous values: regression is not supported"
        )


def _refuse_mixture(values: NDArray[Any], kinds: set[type], name: str) -> None:
    """ValueError for collections, and for truth values among numbers, of which True and 1 are equal."""
    has_truths = any(issubclass(kind, (bool, np.bool_)) for kind in kinds)
    if not (has_truths and len(kinds) > 1) and not any(issubclass(kind, COLLECTIONS) for kind in kinds):
        return
    first: dict[type, int] = {}
    for row, value in enumerate(values):
        first.setdefault(type(value), row)
    for kind, row in first.items():
        if issubclass(kind, COLLECTIONS):
            raise ValueError(
                f"{name}[{row}] is {values[row]!r}: expected one label per row, text or a whole number; for"
                " several labels per row see labels.find_multilabel"
            )
    truths = [row for kind, row in first.items() if issubclass(kind, (bool, np.bool_))]
    numbers = [row for kind, row in first.items() if issubclass(kind, (int, float, np.number))]
    if truths and (others := set(numbers) - set(truths)):
        raise ValueError(
            f"{name}[{truths[0]}] is {values[truths[0]]} and {name}[{min(others)}] is {values[min(others)]}:"
            " labels must be either truth values or numbers"
        )


def warn_of_variants(classes: Sequence[Any], source: str, stacklevel: int = 3) -> None:
    """Warn of names that differ only in spaces and case, or that look like missing labels."""
    if missing := [name for name in classes if isinstance(name, str) and name.strip().lower() in NO_LABEL]:
        are = "is a class that looks like" if len(missing) == 1 else "are classes that look like"
        warnings.warn(
            f"{source}: {' and '.join(map(repr, missing))} {are} missing labels: leave the rows out if so",
            stacklevel=stacklevel,
        )
    by_key: dict[str, list[str]] = {}
    for name in classes:
        if isinstance(name, str):
            by_key.setdefault(" ".join(name.split()).casefold(), []).append(name)
    found = [variants for variants in by_key.values() if len(variants) > 1]
    if found:
        words = "; ".join(" and ".join(map(repr, variants)) for variants in found[:SHOWN_VARIANTS])
        warnings.warn(
            f"{source}: classes whose names differ only in spaces or case: {words}"
            f"{' ...' if len(found) > SHOWN_VARIANTS else ''}; use one spelling if they are one class",
            stacklevel=stacklevel,
        )


def warn_of_order(X: object, y: object, name: str, stacklevel: int = 3, rows: str = "X") -> None:
    """Warn if X, called ``rows``, and the labels are of pandas and have the same index in other orders."""
    from pandas import Index

    own, given = getattr(X, "index", None), getattr(y, "index", None)
    if not (isinstance(own, Index) and isinstance(given, Index)) or own.equals(given):
        return
    if len(own) == len(given) and own.is_unique and given.is_unique and own.isin(given).all():
        warnings.warn(
            f"{name} has the index of {rows} in another order, but rows are matched by position: give"
            f" {name}.loc[{rows}.index], or {name}.to_numpy() if the order is right",
            stacklevel=stacklevel,
        )


def refuse_labels(X: Any, label: NDArray[np.int64], classes: list[Any]) -> None:
    """ValueError if a column of a table contains the labels; a warning if it determines all labels.

    Example:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"size": [1, 2, 3], "kind": ["cat", "dog", "cat"]})
        >>> refuse_labels(table, *as_labels(table["kind"]))
        Traceback (most recent call last):
        ValueError: the column 'kind' of X contains the labels: leave it out
    """
    first = np.unique(label, return_index=True)[1]
    table = _as_table(X)
    for number, name in enumerate(table.columns if table is not None and len(table) == len(label) else ()):
        values = table.iloc[:, number]
        if not (_same_parts(values[:COMPARED_FIRST], label[:COMPARED_FIRST]) and _same_parts(values, label)):
            continue
        if all(str(values.iloc[at]) == str(classes[label[at]]) for at in first):
            raise ValueError(f"the column {str(name)!r} of X contains the labels: leave it out")
        warnings.warn(
            f"the column {str(name)!r} of X determines all labels: leave it out if it was made from them",
            stacklevel=3,
        )


def _as_table(X: Any) -> Any:
    """A DataFrame, or an array of objects or a list of rows with text as one; None for other inputs."""
    if hasattr(X, "columns"):
        return X if hasattr(X, "iloc") else None
    objects = isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 2
    rows = isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], (list, tuple, Mapping))
    form, values = recognise(X) if objects or rows else ("", None)
    return values if form == "frame" else None


def _same_parts(values: Any, label: NDArray[np.int64]) -> bool:
    import pandas as pd  # type: ignore[import-untyped]

    try:
        return bool((pd.factorize(values)[0] == pd.factorize(label)[0]).all())
    except (TypeError, NotImplementedError):  # lists and dicts in cells, also of pyarrow
        return False


def _one_column(y: Any, name: str) -> NDArray[Any]:
    values = as_numpy(y) if hasattr(y, "detach") else y
    if isinstance(values, Mapping):
        raise TypeError(
            f"{name} is a dict: expected one label per row, such as {name}[{next(iter(values), 0)!r}]"
        )
    if hasattr(values, "columns"):
        if len(values.columns) != 1:
            columns = ", ".join(map(str, values.columns[:5]))
            raise ValueError(
                f"{name} has {len(values.columns)} columns ({columns}): pass only the column of labels"
            )
        values = values.to_numpy()
    if not hasattr(values, "dtype") and hasattr(values, "__array__"):
        values = np.asarray(values)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        hint = f", such as table[{values!r}]" if isinstance(values, str) else ""
        raise TypeError(f"{name} is {values!r}: expected one label per row{hint}")
    if isinstance(values, np.ma.MaskedArray):
        values = without_mask(values)
    array = np.asarray(values) if hasattr(values, "dtype") else _of_list(list(values), name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = "; for one-hot or soft labels take argmax(1)" if array.ndim == 2 else ""
        raise ValueError(f"{name} has shape {array.shape}: expected one label per row, shape (n,){hint}")
    if len(array) == 0:
        raise ValueError(f"{name} is empty: expected one label per row")
    return array


def _of_list(values: list[Any], name: str) -> NDArray[Any]:
    """An array of numbers, or of objects for other values, so that 1 and "1" remain different."""
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, bool)
    if all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
        array, kinds = np.asarray(values), {type(value) for value in values}
        is_exact = array.dtype.kind != "f" or any(issubclass(kind, (float, np.floating)) for kind in kinds)
        if is_exact and not kinds & {bool, np.bool_}:
            return array
    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        try:
            return np.asarray(values)
        except ValueError:
            raise ValueError(
                f"{name} has rows of different lengths: expected one label per row; for several labels per"
                " row see labels.find_multilabel"
            ) from None
    array = np.empty(len(values), object)
    array[:] = [value.item() if isinstance(value, np.generic) else value for value in values]
    return array


def _sorted_positions(classes: list[Any]) -> list[int]:
    try:
        return sorted(range(len(classes)), key=classes.__getitem__)
    except TypeError:  # of several types
        return sorted(range(len(classes)), key=lambda at: (type(classes[at]).__name__, str(classes[at])))
