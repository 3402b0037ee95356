"""The columns without a name that pandas writes in front of a table: numbers of the rows, no features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..stream_cache import StreamCache
from .table_file import table_pieces

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

NO_NAME = re.compile(r"(Unnamed: 0(\.\d+)?)?")
"""What pandas calls a first column without a name; a point follows where the table was written again."""
STARTS = (0, 1)
FORM = "row numbers 1"
"""Changes when the file in the cache means something else."""
COUNT = "count.npy"


def unnamed_columns(wanted: Iterable[str]) -> list[str]:
    """Those in front that have no name.

    Example:
        >>> unnamed_columns(["Unnamed: 0.1", "Unnamed: 0", "age", "Unnamed: 3"])
        ['Unnamed: 0.1', 'Unnamed: 0']
    """
    return list(takewhile(NO_NAME.fullmatch, wanted))


def row_numbers(pieces: Iterable[pd.DataFrame], wanted: Sequence[str]) -> list[str]:
    """Columns without a name that hold 0, 1, 2, ... or 1, 2, 3, ...; the first that does not ends them."""
    left = {name: set(STARTS) for name in unnamed_columns(wanted)}
    rows = 0
    for piece in pieces if left else ():
        counted = np.arange(rows, rows + len(piece))
        for name, starts in left.items():
            starts -= {start for start in starts if not _holds(piece[name], counted + start)}
        if not left[next(iter(left))]:
            return []
        rows += len(piece)
    return list(takewhile(left.__getitem__, left))


def row_numbers_of_file(place: Path, wanted: Sequence[str], root: Path) -> list[str]:
    """The same of a table in pieces; the cache under ``root`` remembers the answer."""
    unnamed = unnamed_columns(wanted)
    if not unnamed:
        return []
    cache = StreamCache(root, place, [FORM, unnamed])
    count = cache.map(COUNT)
    if count is None:
        found = row_numbers(table_pieces(place, len(unnamed), only=unnamed), unnamed)
        with cache.writing() as new:
            np.save(new / COUNT, np.array([len(found)]))
            cache.keep(new)
        return found
    return unnamed[: int(count[0])]


def warn_of_row_numbers(names: Sequence[str], place: Path) -> None:
    """Say in one line what is left out."""
    if names:
        which = " and ".join(repr(name) for name in names)
        warnings.warn(
            f"{place}: not used as a feature: {which}, which only counts the rows; to use it, name it in"
            " features=..., else write the table without it (index=False)",
            stacklevel=3,
        )


def _holds(column: pd.Series[Any], numbers: NDArray[np.int64]) -> bool:
    if column.dtype.kind not in "iuf" or column.isna().any():
        return False
    return np.array_equal(column.to_numpy(), numbers)
