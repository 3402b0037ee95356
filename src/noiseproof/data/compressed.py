"""Read compressed files of one member, up to a maximum ratio of compression.

A few bytes of gzip can unpack to gigabytes of zeros. Content may have a hundred times the size of its file,
or 64 MiB; reading more raises an error before it fills memory or disk.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from ..files import open_regular

MAX_RATIO = 100
ALWAYS_ALLOWED = 1 << 26
"""Bytes that any file may unpack to, independent of its ratio."""
XZ_MEMORY = 1 << 28
"""Memory limit of an xz stream in bytes; its highest preset needs 65 MiB."""


def max_unpacked_size(packed: int, free: int = ALWAYS_ALLOWED) -> int:
    """Largest content in bytes of a file of ``packed`` bytes."""
    return max(free, MAX_RATIO * packed)


class LimitedReader(io.RawIOBase):
    """A stream that raises a ValueError after more than ``max_size`` bytes."""

    def __init__(self, source: IO[bytes], max_size: int, below: IO[bytes]) -> None:
        self.source, self.max_size, self.left, self.below = source, max_size, max_size, below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self.source.read(len(buffer))
        self.left -= len(found)
        if self.left < 0:
            raise ValueError(
                f"it unpacks to more than {self.max_size:,} bytes, {MAX_RATIO} times its size:"
                " unpack it first, if the size is right"
            )
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self.source.close()
            self.below.close()  # a stream of an open file does not close the file
        super().close()


def open_packed(path: Path) -> IO[bytes]:
    """Open a .gz, .bz2, .xz, .zst or .zip file for reading its content, or any other file as it is."""
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return open_regular(path)
    file = open_regular(path)
    try:
        max_size = max_unpacked_size(os.fstat(file.fileno()).st_size)
        return io.BufferedReader(LimitedReader(opener(file), max_size, file), 1 << 20)
    except BaseException:
        file.close()
        raise


def _xz(file: IO[bytes]) -> IO[bytes]:
    start = file.read(4096)
    lzma.LZMADecompressor(memlimit=XZ_MEMORY).decompress(start, max_length=1)
    file.seek(0)
    return lzma.open(file, "rb")


def _zst(file: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ValueError(".zst needs the package zstandard: pip install it, or unpack the file") from None
    return cast("IO[bytes]", zstandard.ZstdDecompressor(max_window_size=XZ_MEMORY).stream_reader(file))


def _zip(file: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(file)
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise ValueError(f"the zip archive has {len(members)} files, expected one table: unpack it first")
    return archive.open(members[0])


OPENERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    ".bz2": lambda file: bz2.BZ2File(file),
    ".xz": _xz,
    ".zst": _zst,
    ".zip": _zip,
}
"""Functions that open compressed files, by suffix."""
