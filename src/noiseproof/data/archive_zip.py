"""Members of a zip archive."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .archive_limits import ArchiveError
from .archive_member import CHUNK, Member

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
ENCRYPTED = 0x1


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
