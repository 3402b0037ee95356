"""Arrays from .npz and .npy files: no pickles, and no allocation that the file does not back."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..atomic import require_space, staging
from ..files import DamagedFileError, open_regular
from ..memory import is_large
from .compressed import FREE, allowance

MOST_BYTES = 1 << 33
MOST_MEMBERS = 10_000
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    ValueError,
    SyntaxError,
    RecursionError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    IndexError,
)
"""What the standard library and numpy raise over a damaged file or one of a kind they cannot read."""


def read_npz(path: str | Path, keys: Sequence[str]) -> list[NDArray[Any]]:
    """These arrays of the file, in order; a missing key is an error that lists the ones there are.

    Every damage is a ValueError that names the file and, where it is known, the member.
    """
    with opened(path) as archive:
        members = [member_of(archive, path, key) for key in keys]
        return [_array(archive, path, member) for member in members]


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """The archive, its directory read."""
    with damage_named(path):
        file = open_regular(path)
    with file:
        with damage_named(path):
            check_directory(file, MOST_MEMBERS)
            archive = zipfile.ZipFile(file)
        with archive:
            yield archive


@contextmanager
def damage_named(path: str | Path, member: str | None = None, verb: str = "read") -> Iterator[None]:
    """Every kind of damage as a ValueError that names file and member; a disk that fails stays an OSError."""
    where = "" if member is None else f"member {member!r}: "
    try:
        yield
    except DAMAGE as problem:
        reason = problem.reason if isinstance(problem, DamagedFileError) else problem
        raise ValueError(f"cannot {verb} {path}: {where}{reason or type(problem).__name__}") from None
    except OSError as problem:
        if problem.errno not in (None, errno.EINVAL):  # a position outside of the file is EINVAL
            raise
        raise ValueError(f"cannot {verb} {path}: {where}it is damaged ({problem})") from None


def member_of(archive: zipfile.ZipFile, path: str | Path, key: str) -> zipfile.ZipInfo:
    """Where the array of this name lies."""
    present = {name.removesuffix(".npy"): name for name in archive.namelist()}
    if key not in present:
        raise ValueError(
            f"cannot read {path}: it has no array {key!r} (it has: {', '.join(sorted(present))})"
        )
    return archive.getinfo(present[key])


def checked_header(file: Readable, size: int) -> NpyHeader:
    """The header of a member of ``size`` bytes, which must be what it says, to the byte."""
    header = read_header(file)
    if header.dtype.hasobject:
        raise ValueError("it holds Python objects, which are never unpickled")
    there = size - header.start
    if header.nbytes != there:
        has = "has only" if there < header.nbytes else "has"
        raise ValueError(
            f"it says shape {header.shape} of {header.dtype}, which is {header.nbytes} bytes,"
            f" but {has} {there}"
        )
    return header


def check_ratio(path: str | Path, member: zipfile.ZipInfo) -> None:
    """ValueError for a member that unpacks to far more than it takes in the file."""
    most = allowance(member.compress_size, 4 * FREE)
    if member.file_size > most:
        raise ValueError(
            f"cannot read {path}: member {member.filename!r}: it unpacks to {member.file_size:,} bytes, more"
            f" than the {most:,} its size allows: save it with numpy.savez, if that is right"
        )


END, END_64, PLACE_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
"""How the records at the end of an archive begin: the end, that of large ones, and where the latter lies."""
LONGEST_END = 22 + 65535
PER_MEMBER = 1024
"""Bytes of the table of contents that a member may take on average; a name has mostly less than 100."""


def check_directory(file: BinaryIO, members: int) -> None:
    """ValueError if the archive has more members than that; its table of contents is not read for it.

    ``zipfile`` would first make an object of each, which takes minutes and gigabytes for millions.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST_END))
    tail = file.read(LONGEST_END)
    place = tail.rfind(END)
    record = tail[place : place + 22]
    if place >= 0 and len(record) == 22:
        count, length = struct.unpack("<10xHI6x", record)
        where = tail.rfind(PLACE_64, 0, place)
        if where >= 0 and (count == 0xFFFF or length == 0xFFFFFFFF):
            file.seek(min(size, int.from_bytes(tail[where + 8 : where + 16], "little")))
            large = file.read(56)
            if large.startswith(END_64) and len(large) == 56:
                count, length = struct.unpack("<32xQQ8x", large)
        if count > members or length > PER_MEMBER * members:
            told = f"{count:,} members" if count > members else f"a table of contents of {length:,} bytes"
            raise ValueError(f"it has {told}, more than {members:,} members are not read")
    file.seek(0)


def _array(archive: zipfile.ZipFile, path: str | Path, member: zipfile.ZipInfo) -> NDArray[Any]:
    check_ratio(path, member)
    with damage_named(path, member.filename):
        if member.file_size > MOST_BYTES:
            raise ValueError(f"it has {member.file_size} bytes unpacked, more than {MOST_BYTES}")
        with archive.open(member) as file:
            checked_header(file, member.file_size)
        with archive.open(member) as file:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            if file.read(1):  # reading to the end compares the checksum
                raise ValueError("it goes on after its array")
        return array


def map_npy(path: str | Path, verb: str = "read") -> NDArray[Any]:
    """The array as a memory map; ValueError if the file is damaged, not a regular one, or holds objects."""
    with damage_named(path, verb=verb), open_regular(path) as file:
        header = checked_header(file, os.fstat(file.fileno()).st_size)
        if header.nbytes == 0:
            return np.empty(header.shape, header.dtype)
        order: Any = "F" if header.fortran else "C"
        return np.memmap(path, header.dtype, "r", header.start, header.shape, order)


class Readable(Protocol):
    """A file, as far as a header needs it."""

    def read(self, size: int = ..., /) -> bytes: ...

    def tell(self) -> int: ...


class NpyHeader(NamedTuple):
    """What a .npy file says of its array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """Bytes before the values."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: Readable) -> NpyHeader:
    """Shape, order and type of the array that follows; nothing is allocated for it.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.save(file, np.zeros((2, 3), np.uint8))
        >>> _ = file.seek(0)
        >>> read_header(file)
        NpyHeader(shape=(2, 3), fortran=False, dtype=dtype('uint8'), start=128)
    """
    version = npy.read_magic(file)  # type: ignore[no-untyped-call]
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"npy format {version} is not known here")
    shape, fortran, dtype = read(file)  # type: ignore[no-untyped-call]
    if any(side < 0 for side in shape):
        raise ValueError(f"the shape {shape} has a side below 0")
    return NpyHeader(shape, fortran, dtype, file.tell())


UNPACKED = "array.npy"
CHUNK = 1 << 20
"""Bytes held in memory at a time."""
FOLDER = "streams"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


def read_or_map(path: Path, key: str, root: Path, *, stream: bool | None = None) -> NDArray[Any]:
    """The array, in memory or as a memory map.

    ``stream`` None maps an array that is larger than a quarter of the available memory. It is unpacked once,
    block by block, to a file under ``root`` and mapped from there; the checksum is compared.
    """
    with opened(path) as archive:
        member = member_of(archive, path, key)
        if not (is_large(member.file_size) if stream is None else stream):
            return read_npz(path, [key])[0]
        return _unpacked(archive, path, member, root)


def _unpacked(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, root: Path) -> NDArray[Any]:
    cache = StreamCache(root, path, ["npz", member.filename])
    found = cache.map(UNPACKED)
    if found is None:
        with cache.writing() as new:
            check_ratio(path, member)
            require_space(new, member.file_size)
            with damage_named(path, member.filename):
                _write_member(archive, member, new / UNPACKED)
            cache.keep(new)
        found = cache.map(UNPACKED)
    if found is None:
        raise ValueError(f"cannot read {path}: member {member.filename!r} cannot be mapped when unpacked")
    return found


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
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

    def map(self, name: str, row: tuple[int, ...] = ()) -> NDArray[Any] | None:
        """A .npy file, or float32 numbers in rows of a shape, as a memory map; None if it must be made."""
        file = self.folder / name
        try:
            if row:
                return np.memmap(file, np.float32, "r").reshape(-1, *row)
            mapped: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
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
