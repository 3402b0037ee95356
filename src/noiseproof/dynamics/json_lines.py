"""Append-only files of JSON lines; an incomplete last line of a killed process is ignored on reading.

An incomplete line is always detected, since no proper prefix of a JSON object is a JSON object.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import atomic
from ..files import read_bytes

MAX_BYTES, MAX_LINES = 1 << 28, 1 << 20
"""Largest file that is read, in bytes and in lines."""


def append(path: str | os.PathLike[str], entry: Mapping[str, object], *, sync: bool = False) -> None:
    """Append one line; NaN and infinities become null; ``sync`` also flushes it to the disk.

    An incomplete last line is removed first, and so is this line if writing fails.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     append(f"{folder}/metrics.jsonl", {"epoch": 1, "loss": float("nan")})
        ...     read(f"{folder}/metrics.jsonl")
        [{'epoch': 1, 'loss': None}]
    """
    line = (json.dumps(_plain(entry, "entry"), allow_nan=False) + "\n").encode()
    with atomic.explained(path, len(line)):
        descriptor = atomic.open_in_place(path, os.O_RDWR | os.O_APPEND)
        try:
            end = _repair_end(descriptor)
            try:
                while line:
                    line = line[os.write(descriptor, line) :]
                if sync:
                    os.fsync(descriptor)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return all complete lines; [] if the file does not exist.

    Raises:
        ValueError: if a line before the last is damaged.
    """
    return [entry for line, entry in _parsed(Path(path))]


def filter_lines(path: str | os.PathLike[str], wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Rewrite the file atomically with the ``wanted`` lines only, unchanged byte for byte."""
    if not Path(path).exists():
        return
    content = b"".join(line + b"\n" for line, entry in _parsed(Path(path)) if wanted(entry))
    if content != read_bytes(path, MAX_BYTES):
        atomic.write_bytes(path, content)


def _parsed(path: Path) -> list[tuple[bytes, dict[str, Any]]]:
    *lines, last = read_bytes(path, MAX_BYTES).split(b"\n") if path.exists() else [b""]
    if len(lines) > MAX_LINES:
        raise ValueError(f"{path} has {len(lines):,} lines, more than {MAX_LINES:,}")
    found = []
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None and line.strip():
            raise ValueError(f"{path}, line {number} is damaged: {line[:60]!r}; repair or remove that line")
        if entry is not None:
            found.append((line, entry))
    entry = _entry(last)
    return found if entry is None else [*found, (last, entry)]


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _repair_end(descriptor: int) -> int:
    """Terminate a complete last line and remove an incomplete one; returns the size of the file."""
    size = os.fstat(descriptor).st_size
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65536)
        os.lseek(descriptor, start, os.SEEK_SET)
        tail = os.read(descriptor, size - start)
    last = tail.rpartition(b"\n")[2]
    if not last:
        return size
    if _entry(last) is not None:
        os.write(descriptor, b"\n")
        return size + 1
    os.ftruncate(descriptor, size - len(last))
    return size - len(last)


def _plain(value: object, path: str) -> object:
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise TypeError(f"{path} has the key {wrong[0]!r}: keys must be strings")
        return {key: _plain(part, f"{path}[{key!r}]") for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, f"{path}[{number}]") for number, part in enumerate(value)]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(f"{path} is a {type(value).__name__}: convert it to a Python number, such as by .item()")
