"""Arrays from .npz files: no pickles, and no allocation that the file does not back."""

from __future__ import annotations

import errno
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..files import DamagedFileError, open_regular
from .archive.compressed_file import FREE, allowance
from .archive.zip import check_directory

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
        return mapped(path, header, 0)


def mapped(path: str | Path, header: NpyHeader, start: int) -> NDArray[Any]:
    """The array whose header begins at byte ``start``."""
    if header.nbytes == 0:
        return np.empty(header.shape, header.dtype)
    order: Any = "F" if header.fortran else "C"
    return np.memmap(
        path, header.dtype, mode="r", offset=start + header.start, shape=header.shape, order=order
    )


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
