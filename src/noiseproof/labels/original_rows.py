"""Read the rows of samples, with all columns, from the table of the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.locations import split_path
from ..data.registry import parse_source
from ..data.sources.table_file import read_table, size_in_memory, table_chunks, table_columns
from ..memory import is_large

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

TABLES = ("csv", "parquet")


def table_of(spec: object) -> tuple[Path, dict[str, Any]] | None:
    """File and options of a source that is a table; None for other sources.

    Example:
        >>> table_of('csv(path="rows.csv", label="kind")')
        (PosixPath('rows.csv'), {'path': 'rows.csv', 'label': 'kind'})
        >>> table_of("digits")
    """
    if not isinstance(spec, str):
        return None
    try:
        name, options = parse_source(spec)
    except ValueError:
        return None
    if name not in TABLES or not isinstance(options.get("path"), str):
        return None
    return split_path(name, str(options["path"]), "train"), dict(options)


def label_columns(options: dict[str, Any]) -> list[str]:
    """Names of the columns of labels of a table."""
    return [name for name in (options.get("label", "label"), options.get("clean_label")) if name]


def whole_table(spec: object) -> pd.DataFrame | None:
    """All rows, indexed by sample number; None if the source is not a table or the table is large."""
    found = table_of(spec)
    if found is None or not found[0].is_file() or is_large(size_in_memory(found[0])):
        return None
    return read_table(found[0])


def rows_of(spec: object, numbers: Sequence[int], *, as_text: bool = False) -> pd.DataFrame | None:
    """The rows ``numbers`` in this order, read in chunks; ``as_text`` reads the values of a CSV as text."""
    import pandas as pd  # type: ignore[import-untyped]

    found = table_of(spec)
    if found is None or not found[0].is_file():
        return None
    wanted, start, kept = set(numbers), 0, []
    columns = table_columns(found[0])
    for piece in table_chunks(found[0], len(columns), columns if as_text else ()):
        piece.index = pd.RangeIndex(start, start + len(piece))
        kept.append(piece[piece.index.isin(wanted)])
        start += len(piece)
    missing = [number for number in numbers if not 0 <= number < start]
    if missing:
        raise ValueError(f"{found[0]} has no row {missing[0]}: it has changed since the run was trained")
    return pd.concat(kept).loc[list(numbers)]
