"""Names of archive members: those that stay inside the folder on every system, each once."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from .limits import ArchiveError

LONGEST_PART = 255
LONGEST_NAME = 4096
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(1, 10))]
)
"""Names that are devices on Windows, with any suffix."""


def safe_parts(name: str) -> tuple[str, ...]:
    """The parts of a member's name, ``.`` left out; ArchiveError if one could lead out of the folder.

    Example:
        >>> safe_parts("./batches/one.bin")
        ('batches', 'one.bin')
        >>> safe_parts("../one.bin")
        Traceback (most recent call last):
        noiseproof.data.archive.limits.ArchiveError: member '../one.bin' leads out of the folder
    """
    problem = _problem_of_name(name)
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    for part in parts:
        problem = problem or _problem_of_part(part)
    if problem:
        raise ArchiveError(f"member {name[:200]!r} {problem}")
    return parts


def _problem_of_name(name: str) -> str | None:
    if not name:
        return "has no name"
    if name.startswith("/"):
        return "has an absolute path"
    if "\\" in name or ":" in name:
        return "has a backslash or colon, which means a path or drive on Windows"
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        return "has a control character or bytes that are not text"
    if len(name.encode()) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} bytes"
    return None


def _problem_of_part(part: str) -> str | None:
    if part == "..":
        return "leads out of the folder"
    if part.endswith((".", " ")):
        return f"has the part {part!r}, whose last letter Windows drops"
    if part.split(".")[0].lower() in RESERVED:
        return f"has the part {part!r}, a device on Windows"
    if len(part.encode()) > LONGEST_PART:
        return f"has a part longer than {LONGEST_PART} bytes"
    return None


class Names:
    """Every name of one archive: no two that any file system could take for the same."""

    def __init__(self) -> None:
        self.spelling: dict[str, str] = {}
        self.files: set[str] = set()

    def add(self, name: str, *, is_folder: bool) -> PurePosixPath:
        """The safe relative path of a member; a folder may come again, a file may not."""
        parts = safe_parts(name)
        for length in range(1, len(parts) + 1):
            whole = length == len(parts)
            self._enter("/".join(parts[:length]), name, is_file=whole and not is_folder)
        if not parts and not is_folder:
            raise ArchiveError(f"member {name!r} is a file where the folder itself should be")
        return PurePosixPath(*parts)

    def _enter(self, path: str, name: str, *, is_file: bool) -> None:
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        is_new = key not in self.spelling
        known = self.spelling.setdefault(key, path)
        if known != path:
            raise ArchiveError(f"member {name!r} differs from {known!r} only in case or accents")
        if key in self.files:
            raise ArchiveError(f"member {name!r} comes twice, or lies inside a file")
        if is_file:
            if not is_new:
                raise ArchiveError(f"member {name!r} is a file where a folder was")
            self.files.add(key)
