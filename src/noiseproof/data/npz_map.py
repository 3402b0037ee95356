"""One array of an .npz file without reading it: mapped where it lies, or unpacked once into the cache."""

from __future__ import annotations

import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..files import open_regular
from .archive import require_space
from .archive_member import CHUNK
from .memory import is_large
from .npy import mapped
from .npz import check_ratio, checked_header, damage_named, member_of, opened, read_npz
from .stream_cache import StreamCache

LOCAL_HEADER = struct.Struct("<4s22xHH")
UNPACKED = "array.npy"


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
