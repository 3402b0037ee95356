"""Read arrays from .npz and .npy files without pickle, and check sizes before allocation."""

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
from .compressed import ALWAYS_ALLOWED, max_unpacked_size

MAX_BYTES = 1 << 33
MAX_MEMBERS = 10_000
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
"""Exceptions of the standard library and numpy for damaged or unsupported files."""


def read_npz(path: str | Path, keys: Sequence[str]) -> list[NDArray[Any]]:
    """The arrays of these keys, in order; ValueError for a missing key or a damaged file."""
    with open_npz(path) as archive:
        members = [member_of(archive, path, key) for key in keys]
        return [_array(archive, path, member) for member in members]


@contextmanager
def open_npz(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open the archive and check its directory."""
    with explain_damage(path):
        file = open_regular(path)
    with file:
        with explain_damage(path):
            check_directory(file, MAX_MEMBERS)
            archive = zipfile.ZipFile(file)
        with archive:
            yield archive


@contextmanager
def explain_damage(path: str | Path, member: str | None = None, verb: str = "read") -> Iterator[None]:
    """Raise errors of damaged files as ValueError with file and member; errors of the disk pass through."""
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
    """The member of the array with this name."""
    present = {name.removesuffix(".npy"): name for name in archive.namelist()}
    if key not in present:
        raise ValueError(
            f"cannot read {path}: it has no array {key!r} (it has: {', '.join(sorted(present))})"
        )
    return archive.getinfo(present[key])


def checked_header(file: Readable, size: int) -> NpyHeader:
    """The header of a member of ``size`` bytes; ValueError if its array has another size."""
    header = read_header(file)
    if header.dtype.hasobject:
        raise ValueError("it contains Python objects, which are never unpickled")
    actual = size - header.start
    if header.nbytes != actual:
        raise ValueError(
            f"its header has shape {header.shape} of {header.dtype}, which is {header.nbytes} bytes,"
            f" but it has {actual}"
        )
    return header


def check_ratio(path: str | Path, member: zipfile.ZipInfo) -> None:
    """ValueError for a member with an implausible ratio of compression."""
    limit = max_unpacked_size(member.compress_size, 4 * ALWAYS_ALLOWED)
    if member.file_size > limit:
        raise ValueError(
            f"cannot read {path}: member {member.filename!r}: it unpacks to {member.file_size:,} bytes, more"
            f" than the {limit:,} its size allows: save it with numpy.savez, if the size is right"
        )


END, END_64, LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
"""Signatures of the end of central directory record, of its ZIP64 form, and of the locator of the latter."""
MAX_END_BYTES = 22 + 65535
BYTES_PER_ENTRY = 1024
"""Largest mean size of an entry of the central directory, in bytes; names have mostly less than 100."""


def check_directory(file: BinaryIO, members: int) -> None:
    """ValueError if the archive has more than ``members`` members, by its end record alone.

    ``zipfile`` creates an object per member, which takes minutes and gigabytes for millions of them.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MAX_END_BYTES))
    tail = file.read(MAX_END_BYTES)
    start = tail.rfind(END)
    record = tail[start : start + 22]
    if start >= 0 and len(record) == 22:
        count, length = struct.unpack("<10xHI6x", record)
        locator = tail.rfind(LOCATOR_64, 0, start)
        if locator >= 0 and (count == 0xFFFF or length == 0xFFFFFFFF):
            file.seek(min(size, int.from_bytes(tail[locator + 8 : locator + 16], "little")))
            large = file.read(56)
            if large.startswith(END_64) and len(large) == 56:
                count, length = struct.unpack("<32xQQ8x", large)
        if count > members or length > BYTES_PER_ENTRY * members:
            excess = f"{count:,} members" if count > members else f"a directory of {length:,} bytes"
            raise ValueError(f"it has {excess}, more than {members:,} members are not read")
    file.seek(0)


def _array(archive: zipfile.ZipFile, path: str | Path, member: zipfile.ZipInfo) -> NDArray[Any]:
    check_ratio(path, member)
    with explain_damage(path, member.filename):
        if member.file_size > MAX_BYTES:
            raise ValueError(f"it has {member.file_size} bytes unpacked, more than {MAX_BYTES}")
        with archive.open(member) as file:
            checked_header(file, member.file_size)
        with archive.open(member) as file:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            if file.read(1):  # reading to the end compares the checksum
                raise ValueError("it has bytes after its array")
        return array


def map_npy(path: str | Path, verb: str = "read") -> NDArray[Any]:
    """The array as a memory map; ValueError if the file is damaged, not regular, or contains objects."""
    with explain_damage(path, verb=verb), open_regular(path) as file:
        header = checked_header(file, os.fstat(file.fileno()).st_size)
        if header.nbytes == 0:
            return np.empty(header.shape, header.dtype)
        order: Any = "F" if header.fortran else "C"
        return np.memmap(path, header.dtype, "r", header.start, header.shape, order)


class Readable(Protocol):
    """Protocol of a file from which a header is read."""

    def read(self, size: int = ..., /) -> bytes: ...

    def tell(self) -> int: ...


class NpyHeader(NamedTuple):
    """The header of a .npy file."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """Number of bytes before the values."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: Readable) -> NpyHeader:
    """Read shape, order and dtype of an array without allocating it.

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
        raise ValueError(f"npy format {version} is not supported")
    shape, fortran, dtype = read(file)  # type: ignore[no-untyped-call]
    if any(side < 0 for side in shape):
        raise ValueError(f"the shape {shape} has a side below 0")
    return NpyHeader(shape, fortran, dtype, file.tell())


UNPACKED = "array.npy"
CHUNK = 1 << 20
"""Bytes that are read at a time."""
FOLDER = "streams"
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR)


def read_or_map(path: Path, key: str, root: Path, *, stream: bool | None = None) -> NDArray[Any]:
    """The array, in memory or as a memory map.

    With ``stream=None`` an array larger than a quarter of the available memory is mapped. It is unpacked once
    in blocks to a file under ``root``, which verifies its checksum, and mapped from there.
    """
    with open_npz(path) as archive:
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
            with explain_damage(path, member.filename):
                _write_member(archive, member, new / UNPACKED)
            cache.commit(new)
        found = cache.map(UNPACKED)
    if found is None:
        raise ValueError(f"cannot read {path}: member {member.filename!r} cannot be mapped when unpacked")
    return found


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Unpack a member in blocks, which verifies its checksum at the end."""
    with archive.open(member) as packed:
        checked_header(packed, member.file_size)
    with archive.open(member) as packed, target.open("xb") as file:
        while block := packed.read(CHUNK):
            file.write(block)


class StreamCache:
    """A cached folder of files derived from a source file; it is created atomically.

    Its name contains hashes of the path of the source with the ``options``, and of the size and time of the
    source: a changed source gets a new folder, and the old one is removed. Files are written to a temporary
    folder, which is renamed when they are complete.
    """

    def __init__(self, root: Path, source: Path, options: object) -> None:
        self.source = source.resolve()
        self.stamp = self._stamp_now()
        key = _digest([str(self.source), options])
        stem = "".join(letter if letter.isalnum() else "_" for letter in source.name.split(".")[0])
        self.prefix = f"{stem.encode('ascii', 'replace').decode().replace('?', '_')[:40]}-{key}-"
        self.folder = root / FOLDER / (self.prefix + _digest(self.stamp))

    def _stamp_now(self) -> list[int]:
        state = self.source.stat()
        return [state.st_size, state.st_mtime_ns]

    def map(self, name: str, row: tuple[int, ...] = ()) -> NDArray[Any] | None:
        """A .npy file, or float32 numbers with rows of a shape, as a memory map; None if it is missing."""
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
        """Remove the folder, because a file in it is missing or cannot be read."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """A temporary folder for the new files, which is removed unless ``commit`` is called."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with staging(self.folder) as new:
                yield new
        except OSError as problem:
            if problem.errno not in UNWRITABLE:
                raise
            raise OSError(
                problem.errno,
                f"cannot write the streamed form of {self.source} ({problem.strerror}): set root=... or"
                " NOISEPROOF_DATA to a folder with free space, or pass stream=False",
                os.fspath(self.folder.parent),
            ) from problem

    def commit(self, new: Path) -> None:
        """Rename the folder of complete files, and remove those of older versions of the source."""
        if self._stamp_now() != self.stamp:
            raise ValueError(f"{self.source} changed while it was read: load it again")
        for file in new.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        try:
            new.rename(self.folder)
        except OSError:
            if not self.folder.is_dir():  # otherwise another process has created the same files
                raise
        for older in self.folder.parent.glob(self.prefix + "*"):
            if older != self.folder:
                shutil.rmtree(older, ignore_errors=True)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
