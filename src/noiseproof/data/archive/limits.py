"""How much an archive may unpack to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

FREE_OF_RATIO = 1 << 20
"""An archive may always unpack to this many bytes: the ratio of a tiny file of zeros says nothing."""
CHUNK = 1 << 20
"""Bytes held in memory at a time."""


class ArchiveError(ValueError):
    """An archive that is damaged, hostile, or larger than allowed; nothing of it was kept."""


@dataclass(frozen=True)
class Limits:
    """What an archive may cost.

    Example:
        >>> Limits.declared(1000).total_bytes
        1100
        >>> Limits().allowance(archive_bytes=10_000_000)
        1000000000
    """

    members: int = 100_000
    """Files and folders."""
    total_bytes: int = 200 * 10**9
    """Size of everything unpacked."""
    ratio: float = 100.0
    """Unpacked size over the size of the archive."""

    @classmethod
    def declared(cls, size: int) -> Limits:
        """Limits for an archive that should unpack to ``size`` bytes: a tenth more is let through."""
        return cls(total_bytes=math.ceil(size * 1.1))

    def allowance(self, archive_bytes: int) -> int:
        """Bytes that may come out of an archive of this size."""
        return min(self.total_bytes, max(FREE_OF_RATIO, int(self.ratio * archive_bytes)))


class Budget:
    """Counts members and bytes of one archive, and stops before a limit is passed."""

    def __init__(self, limits: Limits, archive_bytes: int) -> None:
        self.limits = limits
        self.archive_bytes = archive_bytes
        self.allowance = limits.allowance(archive_bytes)
        self.members = 0
        self.spent = 0

    def spend(self, name: str, size: int) -> None:
        """One more member of ``size`` bytes is about to be written."""
        self.members += 1
        if self.members > self.limits.members:
            raise ArchiveError(f"more than {self.limits.members} members, the first too many is {name!r}")
        if size < 0:
            raise ArchiveError(f"member {name!r} claims a size of {size} bytes")
        self.spent += size
        if self.spent > self.allowance:
            raise ArchiveError(f"{name!r} brings the unpacked size to {self.spent:,} bytes{self.rule()}")

    def rule(self) -> str:
        """Which limit the allowance comes from, for messages."""
        if self.allowance == self.limits.total_bytes:
            return f", more than the {self.allowance:,} allowed"
        return (
            f", more than {self.limits.ratio:g} times the {self.archive_bytes:,} bytes of the archive"
            " (a bomb? if not, raise Limits.ratio)"
        )


class Member(NamedTuple):
    """Its name as written in the archive, its size, and a way to read it once, piece by piece."""

    name: str
    is_folder: bool
    size: int
    read: Callable[[], Iterator[bytes]]
