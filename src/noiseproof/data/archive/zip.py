"""Members of a zip archive."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .limits import CHUNK, ArchiveError, Member

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
ENCRYPTED = 0x1


END, END_64, PLACE_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
"""How the records at the end of an archive begin: the end, that of large ones, and where the latter lies."""
LONGEST_END = 22 + 65535
PER_MEMBER = 1024
"""Bytes of the table of contents that a member may take on average; a name has mostly less than 100."""


def check_directory(file: BinaryIO, members: int) -> None:
    """ArchiveError if the archive has more members than that; its table of contents is not read for it.

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
            raise ArchiveError(f"it has {told}, more than {members:,} members are not read")
    file.seek(0)


def zip_members(path: Path) -> Iterator[Member]:
    """Files and folders of a zip archive; anything else in it is an error."""
    with zipfile.ZipFile(path) as archive:
        for found in archive.infolist():
            _check(found)
            yield _member(archive, found)


def declared_size(path: Path) -> int:
    """Unpacked size by the archive's own table of contents."""
    with zipfile.ZipFile(path) as archive:
        return sum(found.file_size for found in archive.infolist())


def _check(found: zipfile.ZipInfo) -> None:
    name = found.orig_filename
    if found.filename != name:
        raise ArchiveError(f"member {name!r} has a second name, {found.filename!r}")
    kind = stat.S_IFMT(found.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "a symbolic link" if kind == stat.S_IFLNK else f"of unknown type {kind:o}"
        raise ArchiveError(f"member {name!r} is {what}: only plain files and folders are unpacked")
    if found.flag_bits & ENCRYPTED:
        raise ArchiveError(f"member {name!r} is encrypted")
    if found.compress_type not in METHODS:
        raise ArchiveError(f"member {name!r} uses the unsupported compression {found.compress_type}")
    if found.is_dir() and found.file_size:
        raise ArchiveError(f"member {name!r} is a folder with {found.file_size} bytes of its own")


def _member(archive: zipfile.ZipFile, found: zipfile.ZipInfo) -> Member:
    def read() -> Iterator[bytes]:
        with archive.open(found) as content:
            count = 0
            while chunk := content.read(CHUNK):
                count += len(chunk)
                yield chunk
        if count != found.file_size:
            raise ArchiveError(f"member {found.filename!r} has {count:,} bytes, not {found.file_size:,}")

    return Member(found.filename, found.is_dir(), found.file_size, read)
