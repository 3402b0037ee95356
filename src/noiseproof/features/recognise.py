"""Recognise the kind of X: a table, an array, a sparse matrix, texts or images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

EXPECTED = "expected a DataFrame, an array, a sparse matrix, a dict of columns or a list of strings"


def recognise(X: Any, *, text: bool = False) -> tuple[str, Any]:
    """The kind of X, and X converted to the type of that kind; missing values alone are texts if ``text``.

    "array": (n, d) or (n, ...) numbers · "sparse": a CSR matrix · "text": a list of strings, None for missing
    · "frame": a DataFrame whose column names are strings.

    Example:
        >>> recognise(["good", None])
        ('text', ['good', None])
        >>> recognise([[1, 2], [3, 4]])[0], recognise([[1, "a"]])[0], recognise({"a": [1, 2]})[0]
        ('array', 'frame', 'frame')
    """
    import pandas as pd  # type: ignore[import-untyped]
    from scipy.sparse import csr_matrix, issparse  # type: ignore[import-untyped]

    if issparse(X):
        if len(X.shape) != 2:
            raise ValueError(f"X has shape {X.shape}: expected one row per sample, shape (n, d)")
        return "sparse", csr_matrix(X)
    if hasattr(X, "detach"):  # a tensor
        X = as_numpy(X)
    elif not isinstance(X, (pd.DataFrame, pd.Series)) and hasattr(X, "to_pandas"):  # of pyarrow or polars
        X = X.to_pandas()
    X = columns_as_table(X)
    if isinstance(X, np.ma.MaskedArray):
        X = without_mask(X)
    if isinstance(X, pd.Series):
        return _series(X, text)
    if isinstance(X, pd.DataFrame):
        return "frame", _named(X)
    if not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise TypeError(f"X is a {type(X).__name__}: {EXPECTED}")
    return _array(X, text)


def as_numpy(tensor: Any) -> Any:
    """A tensor as an array; bfloat16, which numpy does not have, as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def without_mask(array: Any) -> Any:
    """A masked array as an array in which masked values are missing: NaN, or None among other values."""
    if not np.ma.is_masked(array):
        return array.data
    return array.astype(np.float64).filled(np.nan) if array.dtype.kind in "iuf" else _with_none(array)


def _with_none(array: Any) -> Any:
    objects = array.data.astype(object)
    objects[np.ma.getmaskarray(array)] = None
    return objects


def columns_as_table(X: Any) -> Any:
    """Convert a dict of columns to a DataFrame; other values are returned unchanged."""
    import pandas as pd  # type: ignore[import-untyped]

    if not isinstance(X, Mapping) or hasattr(X, "shape"):  # a dok_matrix is a dict
        return X
    try:
        return pd.DataFrame(dict(X))
    except (ValueError, TypeError) as problem:
        raise ValueError(f"the columns of the dict X do not form a table: {problem}") from None


def _series(X: Any, text: bool) -> tuple[str, Any]:
    import pandas as pd  # type: ignore[import-untyped]

    if text and X.isna().all():
        return "text", [None] * len(X)
    if isinstance(X.dtype, pd.CategoricalDtype) or X.dtype.kind in "iubfMm" or not _are_texts(X.tolist()):
        return "frame", _named(X.rename(X.name or "x").to_frame())
    return "text", [value if isinstance(value, str) else None for value in X.tolist()]


def _array(X: Any, text: bool) -> tuple[str, Any]:
    import pandas as pd  # type: ignore[import-untyped]

    values = X if isinstance(X, np.ndarray) else list(X)
    if len(values) == 0:
        raise ValueError("X has no rows")
    if isinstance(values, list) and values and all(isinstance(row, Mapping) for row in values):
        return "frame", _named(pd.DataFrame(values))
    if np.ndim(values[0]) == 0 and (_are_texts(list(values)) or (text and all(map(_is_missing, values)))):
        return "text", [str(value) if isinstance(value, str) else None for value in values]
    try:
        array = np.asarray(values if isinstance(values, np.ndarray) else _rows(values))
    except ValueError:
        raise ValueError(
            "the rows of X have different lengths: every row must have the same number of values"
        ) from None
    if array.ndim == 1 and any(isinstance(value, (str, bytes)) for value in values):
        row = next(n for n, value in enumerate(values) if not (isinstance(value, str) or _is_missing(value)))
        raise TypeError(f"X[{row}] is {values[row]!r}: expected texts only, or several values per row")
    if array.dtype.names:
        raise TypeError("X is a structured array: pass pd.DataFrame(X)")
    if array.ndim == 0 or array.ndim == 1:
        raise ValueError(
            f"X has shape {array.shape}: expected one row per sample; for a single feature use"
            " X.reshape(-1, 1), for a single sample X.reshape(1, -1). Reshape your data"
        )
    if 0 in array.shape[1:]:
        raise ValueError(
            f"X has no features: 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    if array.dtype.kind in "iubf":
        return "array", array
    if array.ndim > 2 or array.dtype.kind == "c":
        raise TypeError(f"X has dtype {array.dtype} and shape {array.shape}: {EXPECTED}")
    return "frame", _named(pd.DataFrame(array).infer_objects())


def _rows(values: list[Any]) -> Any:
    """Rows that mix text and numbers as objects; numpy would convert the numbers to text."""
    mixed = any(
        isinstance(cell, str) for row in values[:1000] if isinstance(row, (list, tuple)) for cell in row
    )
    return np.array(values, object) if mixed else values


def _are_texts(values: list[Any]) -> bool:
    others = [value for value in values if not isinstance(value, str)]
    return len(others) < len(values) and all(map(_is_missing, others))


def _is_missing(value: Any) -> bool:
    from pandas import NA

    return value is None or value is NA or bool(value != value)


def _named(frame: Any) -> Any:
    names = [str(name) for name in frame.columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"the column {twice[0]!r} occurs more than once: rename or remove one")
    if not names:
        raise ValueError("X has no columns")
    return frame.set_axis(names, axis=1)
