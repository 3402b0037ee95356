"""One table from a .csv, .tsv or .parquet file."""

from __future__ import annotations

import zlib
from gzip import BadGzipFile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def read_table(path: Path) -> pd.DataFrame:
    """All rows; the ending of the name says how to read them."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file: expected a .csv, .tsv or .parquet table")
    if ".csv" in suffixes or ".tsv" in suffixes:
        rows = _read_csv(path, "\t" if ".tsv" in suffixes else ",")
    elif suffixes[-1:] == [".parquet"]:
        rows = _read_parquet(path)
    else:
        raise ValueError(f"{path}: expected a name that ends in .csv, .tsv or .parquet")
    if len(rows) == 0:
        raise ValueError(f"{path} has no rows")
    return rows


def _read_csv(path: Path, separator: str) -> pd.DataFrame:
    """Only an empty field is no value: the text NA may be the name of a class."""
    import pandas as pd  # type: ignore[import-untyped]

    try:
        return pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""])
    except (ValueError, EOFError, BadGzipFile, zlib.error) as problem:
        raise _unreadable(path, problem) from problem


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd  # type: ignore[import-untyped]

    try:
        return pd.read_parquet(path)
    except (ImportError, ValueError, OSError) as problem:
        if isinstance(problem, ImportError) and not _has_pyarrow():
            raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from problem
        raise _unreadable(path, problem) from problem


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # type: ignore[import-not-found, import-untyped]  # noqa: F401
    except ImportError:
        return False
    return True


def _unreadable(path: Path, problem: Exception) -> ValueError:
    return ValueError(f"cannot read the table {path}: {' '.join(str(problem).split())}")
