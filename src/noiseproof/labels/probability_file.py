"""Read out-of-sample probabilities from a file in the order of a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.numpy_files import map_npy
from .export import neutral

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]

PREFIX = "probability_"


def read_probabilities(path: str | Path, index: np.ndarray, class_names: Sequence[str]) -> np.ndarray:
    """(N, C) probabilities of the samples ``index``, in that order.

    Files:
        .csv or .parquet as written by ``noiseproof predict``, with ``index`` and one column
        ``probability_NAME`` per class, in any order; other samples and columns are ignored. Or .npy: an
        array (N, C) in the order of the record, which must not be pickled.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "p.csv")
        ...     _ = path.write_text("index,probability_b,probability_a\\n9,0.25,0.75\\n4,0.5,0.5\\n7,1,0\\n")
        ...     read_probabilities(path, np.array([4, 9]), ["a", "b"])
        array([[0.5 , 0.5 ],
               [0.75, 0.25]])
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".npy"):
        raise ValueError(f"cannot read {str(path)!r}: the name must end in .csv, .parquet or .npy")
    if kind == ".npy":
        return _array(path)
    try:
        table = _table(path)
    except ImportError:
        advice = "pip install 'noiseproof[parquet]', or give a .csv"
        raise ValueError(f"cannot read {str(path)!r}: pyarrow is missing, {advice}") from None
    except (OSError, ValueError) as problem:
        raise ValueError(f"cannot read {str(path)!r}: {_reason(problem)}") from None
    chosen = _columns(path, list(map(str, table.columns)), class_names)
    return np.stack([_numbers(path, column) for _, column in _rows(path, table, index)[chosen].items()], 1)


def _array(path: Path) -> np.ndarray:
    try:
        return np.asarray(map_npy(path))
    except OSError as problem:
        raise ValueError(f"cannot read {str(path)!r}: {_reason(problem)}") from None
    except ValueError:
        raise ValueError(f"cannot read {str(path)!r}: it is not an array of numbers") from None


def _table(path: Path) -> DataFrame:
    import pandas

    return pandas.read_csv(path) if path.suffix.lower() == ".csv" else pandas.read_parquet(path)


def _columns(path: Path, found: list[str], class_names: Sequence[str]) -> list[str]:
    """Names of the columns of the classes, which may have been made safe for spreadsheets."""
    chosen = []
    for name in ("index", *(PREFIX + name for name in class_names)):
        known = next((column for column in (name, neutral(name)) if column in found), None)
        if known is None:
            shown = ", ".join(map(neutral, found[:6])) + (", ..." if len(found) > 6 else "")
            raise ValueError(f"{path} has no column {neutral(name)!r}; its columns are {shown}")
        chosen.append(known)
    return chosen[1:]


def _rows(path: Path, table: DataFrame, index: np.ndarray) -> DataFrame:
    """One row for each sample of ``index``."""
    if table["index"].dtype.kind not in "iu":
        raise ValueError(f"the column 'index' of {path} must hold whole numbers only")
    twice = table["index"][table["index"].duplicated()]
    if len(twice):
        raise ValueError(f"sample {twice.iloc[0]} occurs twice in {path}")
    missing = np.setdiff1d(index, table["index"].to_numpy())
    if len(missing):
        raise ValueError(
            f"{len(missing):,} samples of the record are missing in {path}, the first is {missing[0]}"
        )
    return table.set_index("index").loc[index]


def _numbers(path: Path, column: Series) -> np.ndarray:
    from pandas import to_numeric

    found = to_numeric(column, errors="coerce")
    invalid = column[found.isna()]
    if len(invalid):
        value, sample = neutral(str(invalid.iloc[0])), invalid.index[0]
        raise ValueError(f"{path}: {neutral(str(column.name))} of sample {sample} is {value!r}, not a number")
    return np.asarray(found, dtype=np.float64)


def _reason(problem: Exception) -> str:
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
