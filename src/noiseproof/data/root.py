"""Where datasets live, and what to say when one is not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def data_root() -> Path:
    """``$NOISEPROOF_DATA``, or ``noiseproof`` in the platform's cache folder (``~/.cache`` on Linux)."""
    chosen = os.environ.get("NOISEPROOF_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = str(Path.home() / "Library" / "Caches")
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "noiseproof"


class DataMissingError(FileNotFoundError):
    """A dataset is not where it is looked for; the message says what is expected and how to get it."""


def find_files(
    name: str, root: Path, choices: Sequence[Sequence[str]], folders: Sequence[str] = ()
) -> list[Path]:
    """The files of the first complete choice, all in one folder.

    Looked for in ``root``, ``root/name`` and the official ``folders`` inside either.
    """
    parents = [root, root / name]
    places = parents + [parent / folder for parent in parents for folder in folders]
    for choice in choices:
        for place in places:
            found = [place / file for file in choice]
            if all(path.is_file() for path in found):
                return found
    raise DataMissingError(_missing(name, root, choices, places))


def _missing(name: str, root: Path, choices: Sequence[Sequence[str]], places: Sequence[Path]) -> str:
    lines = [f"{name} is not complete under {root}. Expected, in that folder or one of its subfolders"]
    subfolders = [place.relative_to(root).as_posix() for place in places[1:]]
    lines.append(f"({', '.join(subfolders)}), one of:")
    for choice in choices:
        present = [file for file in choice if any((place / file).is_file() for place in places)]
        absent = [file for file in choice if file not in present]
        note = f"  (present: {', '.join(present)}; missing: {', '.join(absent)})" if present else ""
        lines.append(f"  - {', '.join(choice)}{note}")
    lines.append(f"Get them with: noiseproof data get {name}")
    lines.append("or point root=... or the environment variable NOISEPROOF_DATA to a folder that has them.")
    return "\n".join(lines)
