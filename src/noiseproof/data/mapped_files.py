"""One array of an .npz file without reading it: mapped where it lies, or unpacked once into the cache."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import open_regular
from ..memory import is_large
from .archive.limits import CHUNK
from .archive.unpack import require_space, staging
from .numpy_files import check_ratio, checked_header, damage_named, mapped, member_of, opened, read_npz

LOCAL_HEADER = struct.Struct("<4s22xHH")
UNPACKED = "array.npy"
FOLDER = "streams"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


def read_or_map(path: Path, key: str, root: Path, *, stream: bool | None = None) -> NDArray[Any]:
    """The array, in memory or as a memory map.

    ``stream`` None maps an array that is larger than a quarter of the available memory. One that is stored
    is mapped in place; one that is compressed is unpacked once to a file under ``root`` and mapped from
    there. Either way the first call reads all of it, block by block, and compares the checksum.
    """
    with opened(path) as archive:
        member = member_of(archive, path, key)
        if not (is_large(member.file_size) if stream is None else stream):
            return read_npz(path, [key])[0]
        if member.compress_type != zipfile.ZIP_STORED:
            return _unpacked(archive, path, member, root)
        _check_once(archive, path, member, root)
    with damage_named(path, member.filename):
        return _mapped(path, member)


def _check_once(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, root: Path) -> None:
    """Compare the checksum; an empty folder in the cache remembers that it was right."""
    cache = StreamCache(root, path, ["npz in place", member.filename])
    if cache.folder.is_dir():
        return
    with damage_named(path, member.filename), archive.open(member) as file:
        while file.read(CHUNK):
            pass
    with suppress(OSError), cache.writing() as new:  # where nothing can be written, it is checked each time
        cache.keep(new)


def _mapped(path: Path, member: zipfile.ZipInfo) -> NDArray[Any]:
    with open_regular(path) as file:
        file.seek(member.header_offset)
        magic, name, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        if magic != b"PK\x03\x04":
            raise ValueError("there is no member where the directory says it lies")
        start = file.seek(name + extra, 1)
        if member.compress_size != member.file_size or start + member.file_size > path.stat().st_size:
            raise ValueError(f"its {member.file_size} bytes are not all in the file")
        header = checked_header(_From(file, start), member.file_size)
    return mapped(path, header, start)


class _From:
    """A file whose beginning is at some byte of another."""

    def __init__(self, file: Any, start: int) -> None:
        self.file, self.start = file, start

    def read(self, size: int = -1, /) -> bytes:
        found: bytes = self.file.read(size)
        return found

    def tell(self) -> int:
        return int(self.file.tell()) - self.start


def _unpacked(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, root: Path) -> NDArray[Any]:
    cache = StreamCache(root, path, ["npz", member.filename])
    found = cache.map(UNPACKED)
    if found is None:
        with cache.writing() as new:
            check_ratio(path, member)
            require_space(new, member.file_size)
            with damage_named(path, member.filename):
                _unpack(archive, member, new / UNPACKED)
            cache.keep(new)
        found = cache.map(UNPACKED)
    if found is None:
        raise ValueError(f"cannot read {path}: member {member.filename!r} cannot be mapped when unpacked")
    return found


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Block by block; reading to the end compares the checksum."""
    with archive.open(member) as packed:
        checked_header(packed, member.file_size)
    with archive.open(member) as packed, target.open("xb") as file:
        while block := packed.read(CHUNK):
            file.write(block)


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
