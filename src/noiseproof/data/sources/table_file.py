"""One table from a .csv, .tsv or .parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


def read_table(path: Path) -> pd.DataFrame:
    """All rows; the ending of the name says how to read them."""
    import pandas as pd  # type: ignore[import-untyped]

    suffixes = [suffix.lower() for suffix in path.suffixes]
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file: expected a .csv, .tsv or .parquet table")
    if ".csv" in suffixes or ".tsv" in suffixes:
        rows = pd.read_csv(path, sep="\t" if ".tsv" in suffixes else ",")
    elif suffixes[-1:] == [".parquet"]:
        try:
            rows = pd.read_parquet(path)
        except ImportError as problem:
            raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from problem
    else:
        raise ValueError(f"{path}: expected a name that ends in .csv, .tsv or .parquet")
    if len(rows) == 0:
        raise ValueError(f"{path} has no rows")
    return rows
