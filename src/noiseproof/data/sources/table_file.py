"""One table from a .csv, .tsv or .parquet file, whole or in pieces."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

CELLS = 1 << 18
"""Values read together when a table comes in pieces: some 10 MB with all that pandas needs."""
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zip", ".parquet"})
LONGEST_LINE = 1 << 20
COMPRESSION = 4
"""How much larger than its file a compressed table is taken to be."""
CSV: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "low_memory": False}
"""Only an empty field is no value: the text NA may be the name of a class. All of a column is looked at
before its type is chosen."""


def read_table(path: Path) -> pd.DataFrame:
    """All rows; the ending of the name says how to read them."""
    import pandas as pd  # type: ignore[import-untyped]

    separator = separator_of(path)
    with _problems_named(path):
        rows = pd.read_parquet(path) if separator is None else pd.read_csv(path, sep=separator, **CSV)
    if len(rows) == 0:
        raise ValueError(f"{path} has no rows")
    return rows


def table_columns(path: Path) -> list[str]:
    """Names of the columns."""
    import pandas as pd  # type: ignore[import-untyped]

    separator = separator_of(path)
    with _problems_named(path):
        if separator is None:
            from pyarrow.parquet import ParquetFile  # type: ignore[import-not-found, import-untyped]

            with ParquetFile(path) as file:
                return [str(name) for name in file.schema_arrow.empty_table().to_pandas().columns]
        return [str(name) for name in pd.read_csv(path, sep=separator, nrows=0, **CSV).columns]


def table_pieces(
    path: Path, width: int, as_text: Sequence[str] = (), only: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """The rows, some at a time; ``width`` is the number of columns, those ``as_text`` of a CSV stay text.

    ``only`` these columns are read where they are given.
    """
    import pandas as pd  # type: ignore[import-untyped]

    separator, count = separator_of(path), max(1, CELLS // max(1, width))
    with _problems_named(path):
        if separator is None:
            from pyarrow.parquet import ParquetFile  # type: ignore[import-not-found, import-untyped]

            with ParquetFile(path) as file:
                for piece in file.iter_batches(batch_size=count, columns=only, use_threads=False):
                    yield piece.to_pandas(use_threads=False)
        else:
            how = CSV | {"dtype": dict.fromkeys(as_text, str), "usecols": only}
            with pd.read_csv(path, sep=separator, chunksize=count, **how) as pieces:
                yield from pieces


def separator_of(path: Path) -> str | None:
    """What stands between the fields of a text table; None for Parquet.

    A .csv whose first line has no comma may have semicolons, as spreadsheets write it in much of Europe, or
    tabs.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a .csv, .tsv or .parquet table")
    if ".csv" in suffixes or ".tsv" in suffixes:
        return "\t" if ".tsv" in suffixes else _of_first_line(path)
    if suffixes[-1:] == [".parquet"]:
        return None
    raise ValueError(f"{path}: expected a name that ends in .csv, .tsv or .parquet")


def _of_first_line(path: Path) -> str:
    if path.suffix.lower() in COMPRESSED:
        return ","
    with path.open("rb") as file:
        line = next((line for line in iter(lambda: file.readline(LONGEST_LINE), b"") if line.strip()), b"")
    plain = re.sub(rb'"[^"]*"', b"", line)
    return next((sign for sign in (",", ";", "\t") if sign.encode() in plain), ",")


def size_in_memory(path: Path) -> int:
    """A guess at the bytes of the table when it is read."""
    size = path.stat().st_size if path.is_file() else 0
    return size * COMPRESSION if path.suffix.lower() in COMPRESSED else size


@contextmanager
def _problems_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as problem:
        raise _unreadable(path, problem) from problem
    except ImportError as problem:
        if not _has_pyarrow():
            raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from problem
        raise _unreadable(path, problem) from problem
    except OSError as problem:  # a number says that the disk is at fault, not the table
        if problem.errno is not None:
            raise
        raise _unreadable(path, problem) from problem


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # type: ignore[import-not-found, import-untyped]  # noqa: F401
    except ImportError:
        return False
    return True


def _unreadable(path: Path, problem: Exception) -> ValueError:
    advice = ": save it as UTF-8" if isinstance(problem, UnicodeError) else ""
    return ValueError(f"cannot read the table {path}: {' '.join(str(problem).split())}{advice}")
