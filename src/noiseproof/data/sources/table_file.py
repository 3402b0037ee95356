"""Read a table from a .csv, .tsv or .parquet file, completely or in chunks."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...features import Features
from ...features.store import load_features, save_features
from ..compressed import ALWAYS_ALLOWED, max_unpacked_size, open_packed
from ..numpy_files import StreamCache

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


CELLS = 1 << 18
"""Number of values of a chunk: about 10 MB in pandas."""
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zip"})
MAX_LINE_BYTES = 1 << 20
COMPRESSION = 4
"""Assumed ratio of compression."""
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4}
WIDTH = 8
"""Bytes of a Parquet value in memory, by type, and of other types."""
DAMAGE = (
    *(EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OverflowError),
    *(RuntimeError, NotImplementedError, RecursionError, IndexError, KeyError),
)
"""Exceptions of readers for damaged tables, in addition to ValueError."""
CSV: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "low_memory": False}
"""Only an empty field is a missing value, as NA may be the name of a class. The type of a column is inferred
from all of its values."""


def read_table(path: Path, as_text: Sequence[str] = ()) -> pd.DataFrame:
    """Read all rows, by the suffix of the file; columns ``as_text`` of a CSV are read as text."""
    import pandas as pd  # type: ignore[import-untyped]

    separator = separator_of(path)
    with _errors_with_path(path):
        if separator is None:
            _check_parquet(path)
            rows = pd.read_parquet(path)
        else:
            with open_packed(path) as file:
                how = CSV | {"dtype": dict.fromkeys(as_text, str)}
                rows = pd.read_csv(file, sep=separator, **how)
    if len(rows) == 0:
        raise ValueError(f"{path} has no rows")
    return rows


def table_columns(path: Path) -> list[str]:
    """Names of the columns."""
    import pandas as pd  # type: ignore[import-untyped]

    separator = separator_of(path)
    with _errors_with_path(path):
        if separator is None:
            from pyarrow.parquet import ParquetFile  # type: ignore[import-not-found, import-untyped]

            with ParquetFile(path) as file:
                return [str(name) for name in file.schema_arrow.empty_table().to_pandas().columns]
        with open_packed(path) as file:
            return [str(name) for name in pd.read_csv(file, sep=separator, nrows=0, **CSV).columns]


def repeated_columns(path: Path) -> list[str]:
    """Names that occur more than once in the header."""
    separator = separator_of(path)
    if separator is None:
        contents = _parquet_metadata(path)
        names = [] if contents is None else list(contents.schema.to_arrow_schema().names)
    else:
        with _errors_with_path(path):
            names = _first_record(path, separator)
    return [name for name, times in Counter(names).items() if times > 1]


def _first_record(path: Path, separator: str) -> list[str]:
    with open_packed(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        try:
            return next((row for row in csv.reader(text, delimiter=separator) if row), [])
        except csv.Error:  # a field of more than 128 KiB; pandas raises the error
            return []


def table_chunks(
    path: Path, width: int, as_text: Sequence[str] = (), only: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Iterate over chunks of the rows; ``width`` is the number of columns of the table.

    Columns ``as_text`` of a CSV are read as text; if ``only`` is given, other columns are not read.
    """
    import pandas as pd  # type: ignore[import-untyped]

    separator, count = separator_of(path), max(1, CELLS // max(1, width))
    with _errors_with_path(path):
        if separator is None:
            from pyarrow.parquet import ParquetFile  # type: ignore[import-not-found, import-untyped]

            _check_parquet(path)
            with ParquetFile(path) as file:
                for chunk in file.iter_batches(batch_size=count, columns=only, use_threads=False):
                    yield chunk.to_pandas(use_threads=False)
        else:
            how = CSV | {"dtype": dict.fromkeys(as_text, str), "usecols": only}
            with open_packed(path) as file:
                yield from pd.read_csv(file, sep=separator, chunksize=count, **how)


def separator_of(path: Path) -> str | None:
    """The separator of fields of a text table; None for Parquet.

    A .csv whose first line has no comma may have semicolons, as written by spreadsheets in some locales, or
    tabs.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected a .csv, .tsv or .parquet table")
    if ".tar" in suffixes:
        raise ValueError(f"{path} is an archive: unpack it, and name the table in it")
    if ".csv" in suffixes or ".tsv" in suffixes:
        return "\t" if ".tsv" in suffixes else _separator_of_first_line(path)
    if suffixes[-1:] == [".parquet"]:
        return None
    raise ValueError(f"{path}: expected a name that ends in .csv, .tsv or .parquet")


def _separator_of_first_line(path: Path) -> str:
    with _errors_with_path(path), open_packed(path) as file:
        line = next((line for line in iter(lambda: file.readline(MAX_LINE_BYTES), b"") if line.strip()), b"")
    plain = re.sub(rb'"[^"]*"', b"", line)
    return next((sign for sign in (",", ";", "\t") if sign.encode() in plain), ",")


def size_in_memory(path: Path) -> int:
    """An estimate of the size of the table in memory, in bytes."""
    size = path.stat().st_size if path.is_file() else 0
    if path.suffix.lower() == ".parquet":
        return declared_size(path)
    return size * COMPRESSION if path.suffix.lower() in COMPRESSED else size


def declared_size(path: Path) -> int:
    """Size of the values of a Parquet file in memory, by its metadata."""
    total, contents = 0, _parquet_metadata(path)
    for number in range(0 if contents is None else contents.num_row_groups):
        group = contents.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            width = WIDTHS.get(column.physical_type, WIDTH)
            total += max(column.num_values * width, column.total_uncompressed_size)
    return total


def _parquet_metadata(path: Path) -> Any:
    """The metadata of a Parquet file; None if they cannot be read, as reading the table raises the error."""
    try:
        from pyarrow.parquet import read_metadata  # type: ignore[import-not-found, import-untyped]

        return read_metadata(path)
    except (ImportError, OSError, *DAMAGE, ValueError):
        return None


def _check_parquet(path: Path) -> None:
    size, limit = declared_size(path), max_unpacked_size(path.stat().st_size, 4 * ALWAYS_ALLOWED)
    if size > limit:
        raise ValueError(
            f"its metadata declare {size:,} bytes, more than the {limit:,} its size allows:"
            " save it as .csv, if the size is right"
        )


@contextmanager
def _errors_with_path(path: Path) -> Iterator[None]:
    try:
        yield
    except (*DAMAGE, ValueError) as problem:
        raise _unreadable(path, problem) from problem
    except ImportError as problem:
        if not _has_pyarrow():
            raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from problem
        raise _unreadable(path, problem) from problem
    except OSError as problem:  # an errno means an error of the disk, not of the table
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


FORMAT = "table 3"
"""Version of the format of cached files."""
INPUTS = "inputs.float32"
CELLS_FITTED = 1 << 18
"""Number of values on which features of a streamed table are fitted, in rows spread over the table."""
MIN_FITTED_ROWS = 1000
"""Fewest rows on which they are fitted."""


def fitted_features(path: Path, names: list[str], root: Path, settings: dict[str, Any]) -> Features:
    """Features of these columns, cached under ``root`` or fitted on a sample of the rows."""
    cache = StreamCache(root, path, [FORMAT, names, settings])
    try:
        known = load_features(cache.folder)
    except ValueError:  # damaged: fitted again
        known = None
    if known is not None:
        return known
    cache.discard()
    features = Features(**settings).fit(
        read_in_chunks(path, names, max(MIN_FITTED_ROWS, CELLS_FITTED // len(names)))
    )
    with cache.writing() as new:
        save_features(new, features)
        cache.commit(new)
    return features


def read_in_chunks(path: Path, names: list[str], max_rows: int | None = None) -> pd.DataFrame:
    """These columns with the types of the whole table: all rows, or every second, fourth, ... row of a table
    with more than ``max_rows`` rows."""
    import pandas as pd  # type: ignore[import-untyped]

    step, seen, width = 1, 0, len(table_columns(path))
    from_text = separator_of(path) is not None
    kept: list[pd.DataFrame] = []
    for chunk in table_chunks(path, width, names if from_text else (), names):
        kept.append(chunk[names].iloc[-seen % step :: step].copy())
        seen += len(chunk)
        while max_rows is not None and sum(map(len, kept)) > max_rows:
            step *= 2
            kept = [pd.concat(kept, ignore_index=True)[::2].copy()]
    if seen == 0:
        raise ValueError(f"{path} has no rows")
    rows = pd.concat(kept, ignore_index=True)
    return pd.read_csv(io.StringIO(rows.to_csv(index=False)), **CSV) if from_text else rows


def streamed_features(path: Path, features: Features, root: Path) -> NDArray[np.float32]:
    """The encoded rows of a table, cached under ``root`` or computed by one pass over the table."""
    cache = StreamCache(root, path, [FORMAT, _digest(features)])
    row = (len(features.names),)
    mapped = cache.map(INPUTS, row)
    if mapped is None:
        with cache.writing() as new:
            with (new / INPUTS).open("xb") as file:
                for chunk in table_chunks(path, len(table_columns(path)), features.text_inputs):
                    file.write(np.ascontiguousarray(features.transform(chunk), np.float32).tobytes())
            cache.commit(new)
        mapped = cache.map(INPUTS, row)
    if mapped is None:
        raise ValueError(f"the streamed form of {path} cannot be mapped")
    return mapped


def _digest(features: Features) -> str:
    facts, arrays = features.state()
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + arrays[name].tobytes())
    return digest.hexdigest()
