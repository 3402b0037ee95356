"""Paths of corrected files, checks that nothing else is overwritten, and atomic writes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ...atomic import explained
from .log import MARK, base_name, log_path, read_log

BLOCK = 1 << 20


def default_target(original: Path) -> Path:
    """
    >>> default_target(Path("data/rows.csv.gz")).as_posix()
    'data/rows.corrected.csv.gz'
    """
    base = base_name(original.name)
    return original.with_name(f"{base}{MARK}{original.name[len(base) :]}")


def dropped_path(corrected: Path) -> Path:
    """
    >>> dropped_path(Path("rows.corrected.csv")).as_posix()
    'rows.corrected.dropped.csv'
    """
    base = base_name(corrected.name)
    return corrected.with_name(f"{base}.dropped{corrected.name[len(base) :]}")


def check_target(target: Path, original: Path | None) -> None:
    """Refuses a target that is the original, or that was not written by this command or changed later."""
    if original is not None and target.exists() and original.exists() and target.samefile(original):
        raise ValueError(f"{target} is the original, which is never overwritten: choose another --out")
    if os.path.lexists(target) and not log_path(target).is_file():
        raise FileExistsError(f"{target} exists and was not written by this command: choose another --out")
    if target.exists() and target.stat().st_mtime_ns > log_path(target).stat().st_mtime_ns:
        raise FileExistsError(
            f"{target} was changed after it was written: remove it, or choose another --out"
        )
    check_log(target)


def check_log(target: Path) -> None:
    """Refuses a target whose log would replace that of other data: rows.csv and rows.parquet share one."""
    if log_path(target).is_file():
        other = target.with_name(Path(read_log(target).corrected).name)
        if other.name != target.name and other.exists():
            raise FileExistsError(
                f"{log_path(target)} is the log of {other}: choose another --out, or remove both"
            )


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """An open temporary file that replaces ``target`` on success and is removed on failure."""
    with explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o666 & ~_mask())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def file_hash(path: Path) -> str:
    """SHA-256 of a file; "" for a folder or a missing file."""
    if not path.is_file():
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
