"""Columns that only number the rows: those without a name that pandas writes in front, and ids."""

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
ID_NAME = re.compile(r"(?i:id|idx|index|row|row[ _]?(id|index|number)|.*[ _]id)|.*[a-z]I[dD]")
"""Names of columns that tell one row from another."""
FORM = "row numbers 3"
"""Changes when the file in the cache means something else."""
FOUND = "found.npy"


def unnamed_columns(wanted: Iterable[str]) -> list[str]:
    """Those in front that have no name.

    Example:
        >>> unnamed_columns(["Unnamed: 0.1", "Unnamed: 0", "age", "Unnamed: 3"])
        ['Unnamed: 0.1', 'Unnamed: 0']
    """
    return list(takewhile(NO_NAME.fullmatch, wanted))


def id_columns(wanted: Iterable[str]) -> list[str]:
    """Those anywhere that have the name of an id.

    Example:
        >>> id_columns(["id", "age", "PassengerId", "patient_id", "grid", "humid"])
        ['id', 'PassengerId', 'patient_id']
    """
    return [name for name in wanted if ID_NAME.fullmatch(name)]


def row_numbers(pieces: Iterable[pd.DataFrame], wanted: Sequence[str]) -> list[str]:
    """Columns without a name, or named as an id, that hold whole numbers, none twice.

    The first column without a name that does not ends those in front. Not only 0, 1, 2, ...: of a table
    that was shuffled or cut every part keeps the numbers of its rows.
    """
    unnamed, ids = unnamed_columns(wanted), id_columns(wanted)
    seen: dict[str, list[NDArray[Any]]] = {name: [] for name in (*unnamed, *ids)}
    for piece in pieces:
        for name in list(seen):
            if _are_whole(piece[name]):
                seen[name].append(piece[name].to_numpy())
            else:
                del seen[name]
        if not seen:
            return []
    different = {name for name, numbers in seen.items() if _differ(numbers)}
    in_front = takewhile(different.__contains__, unnamed)
    return [*in_front, *(name for name in ids if name in different)]


def row_numbers_of_file(place: Path, wanted: Sequence[str], root: Path) -> list[str]:
    """The same of a table in pieces; the cache under ``root`` remembers the answer."""
    candidates = [*unnamed_columns(wanted), *id_columns(wanted)]
    if not candidates:
        return []
    cache = StreamCache(root, place, [FORM, candidates])
    known = cache.map(FOUND)
    if known is None:
        found = row_numbers(table_pieces(place, len(candidates), only=candidates), candidates)
        with cache.writing() as new:
            np.save(new / FOUND, np.array([name in found for name in candidates]))
            cache.keep(new)
        return found
    return [name for name, is_number in zip(candidates, known, strict=True) if is_number]


def warn_of_row_numbers(names: Sequence[str], place: Path) -> None:
    """Say in one line what is left out."""
    if names:
        which = " and ".join(repr(name) for name in names)
        warnings.warn(
            f"{place}: not used as a feature: {which}, which only numbers the rows; to use it, name it in"
            " features=..., else write the table without it",
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
