"""Files made once from data that is larger than memory, kept under the data root."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .archive import staging

FOLDER = "streams"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


class StreamCache:
    """A folder of files made from one source file; it is there completely or not at all.

    Its name holds the path of the source and what was asked of it, then the size and time of the source: a
    source that changes gets a new folder, and the old one goes. Files are written beside it and the folder
    is renamed when they are complete, so a half-written one is never used.
    """

    def __init__(self, root: Path, source: Path, asked: object) -> None:
        self.source = source.resolve()
        self.stamp = self._stamp_now()
        what = _digest([str(self.source), asked])
        stem = "".join(letter if letter.isalnum() else "_" for letter in source.name.split(".")[0])
        self.prefix = f"{stem.encode('ascii', 'replace').decode().replace('?', '_')[:40]}-{what}-"
        self.folder = root / FOLDER / (self.prefix + _digest(self.stamp))

    def _stamp_now(self) -> list[int]:
        state = self.source.stat()
        return [state.st_size, state.st_mtime_ns]

    def map(self, name: str) -> NDArray[Any] | None:
        """A .npy file of the folder as a memory map; None if it must be made, or made again."""
        try:
            mapped: NDArray[Any] = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            self.discard()
            return None
        return mapped

    def discard(self) -> None:
        """Forget the folder, because something in it is missing or cannot be read."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """A folder for the new files; it goes again unless ``keep`` was called."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with staging(self.folder) as new:
                yield new
        except OSError as problem:
            if problem.errno not in NO_ROOM:
                raise
            raise OSError(
                problem.errno,
                f"cannot write the streamed form of {self.source} ({problem.strerror}): point root=... or"
                " NOISEPROOF_DATA to a folder with room, or pass stream=False",
                os.fspath(self.folder.parent),
            ) from problem

    def keep(self, new: Path) -> None:
        """The files in ``new`` are complete: give them their name, and drop those of older sources."""
        if self._stamp_now() != self.stamp:
            raise ValueError(f"{self.source} changed while it was read: load it again")
        for file in new.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        try:
            new.rename(self.folder)
        except OSError:
            if not self.folder.is_dir():  # else another process was faster, with the same files
                raise
        for older in self.folder.parent.glob(self.prefix + "*"):
            if older != self.folder:
                shutil.rmtree(older, ignore_errors=True)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
