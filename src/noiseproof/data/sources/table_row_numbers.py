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
FORM = "row numbers 2"
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
    """Columns without a name that hold whole numbers, none twice; the first that does not ends them.

    Not only 0, 1, 2, ...: of a table that was shuffled or cut every part keeps the numbers of its rows.
    """
    names = unnamed_columns(wanted)
    seen: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for piece in pieces if names else ():
        for name in list(seen):
            if _are_whole(piece[name]):
                seen[name].append(piece[name].to_numpy())
            else:
                del seen[name]
        if names[0] not in seen:
            return []
    return list(takewhile(lambda name: name in seen and _differ(seen[name]), names))


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
            f"{place}: not used as a feature: {which}, which only numbers the rows; to use it, name it in"
            " features=..., else write the table without it (index=False)",
            stacklevel=3,
        )


def _are_whole(column: pd.Series[Any]) -> bool:
    if column.dtype.kind not in "iuf" or column.isna().any():
        return False
    numbers = column.to_numpy()
    return bool(np.isfinite(numbers).all() and (numbers >= 0).all() and (np.floor(numbers) == numbers).all())


def _differ(pieces: list[NDArray[Any]]) -> bool:
    numbers = np.concatenate(pieces)
    return len(np.unique(numbers)) == len(numbers)
