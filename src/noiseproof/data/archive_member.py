"""One file or folder of an archive, whatever the format."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

CHUNK = 1 << 20
"""Bytes held in memory at a time."""


class Member(NamedTuple):
    """Its name as written in the archive, its size, and a way to read it once, piece by piece."""

    name: str
    is_folder: bool
    size: int
    read: Callable[[], Iterator[bytes]]
