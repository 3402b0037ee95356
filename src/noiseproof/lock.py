"""A lock that allows one writer per run folder; the operating system releases it when the process dies."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
import warnings
from datetime import datetime, timezone
from pathlib import Path

from typing_extensions import Self

from . import atomic

CANNOT_LOCK = {errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK}
PAUSE = 0.05
"""Seconds between two attempts to lock."""
WINDOWS_OFFSET = 1 << 30
"""Offset of the locked byte, far beyond the text, since Windows prevents reading of locked bytes."""


class RunLockedError(RuntimeError):
    """Another process is writing to the run folder."""


class RunLock:
    """Context manager that holds the lock of a folder; it is not reentrant.

    The file ``lock`` is never removed and is empty while the lock is free: if it were removed, one process
    could lock a new file while another one waits for the old file.

    Args:
        patience: seconds to wait for the current owner.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, RunLock(folder), RunLock(folder):
        ...     pass
        Traceback (most recent call last):
        noiseproof.lock.RunLockedError: ... is being written by process ... on host ... since ...
    """

    def __init__(self, folder: str | os.PathLike[str], *, patience: float = 0.0) -> None:
        self.folder, self.patience = Path(folder), patience
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        with atomic.explained(self.folder / "lock"):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = atomic.open_in_place(self.folder / "lock", os.O_RDWR)
        try:
            if not self._wait(descriptor):
                raise RunLockedError(
                    f"{self.folder} is being written by {_owner(descriptor)};"
                    " wait for it or choose another --out"
                )
            _write_owner(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        _HELD.add(self)
        return self

    def _wait(self, descriptor: int) -> bool:
        end = time.monotonic() + self.patience
        while not (is_mine := _try_lock(descriptor, self.folder)) and time.monotonic() < end:
            time.sleep(PAUSE)
        return is_mine

    def __exit__(self, *problem: object) -> None:
        _HELD.discard(self)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.ftruncate(descriptor, 0)
                _unlock(descriptor)
            finally:
                os.close(descriptor)


_HELD: set[RunLock] = set()


def _release_in_child() -> None:
    """Close the lock in a forked child, which would otherwise hold it after its parent has died."""
    for lock in _HELD:
        if lock._descriptor is not None:
            os.close(lock._descriptor)
            lock._descriptor = None
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def _owner(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        owner = json.loads(os.read(descriptor, 10_000))
        return f"process {owner['pid']} on host {owner['host']} since {owner['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"  # it has not written its name yet


def _write_owner(descriptor: int) -> None:
    since = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": since}
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, (json.dumps(owner) + "\n").encode())


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, folder: Path) -> bool:
        os.lseek(descriptor, WINDOWS_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, WINDOWS_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, folder: Path) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as problem:
            if problem.errno not in CANNOT_LOCK:
                raise
            warnings.warn(
                f"the file system of {folder} does not support locks: only one process may write to it",
                stacklevel=3,
            )
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
