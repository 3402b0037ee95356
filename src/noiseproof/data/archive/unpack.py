"""Unpack archives from strangers: nothing outside the folder, nothing without bounds, all or nothing."""

from __future__ import annotations

import errno
import lzma
import os
import secrets
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...files import open_regular
from .limits import ArchiveError, Budget, Limits, Member
from .names import Names
from .tar import tar_members
from .zip import check_directory, declared_size, zip_members

__all__ = ["ArchiveError", "Limits", "unpack"]

ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    UnicodeError,
    RecursionError,
    OverflowError,
    NotImplementedError,
)
"""What the standard library raises over a broken archive, beside OSErrors without a number."""


def unpack(archive: str | Path, folder: str | Path, *, limits: Limits = Limits()) -> list[Path]:
    """Unpack a tar (plain, gz, bz2, xz) or zip archive into a new folder; the files, in archive order.

    Only plain files and folders whose names stay inside ``folder`` on every system are unpacked; links,
    devices, names that come twice or differ only in case, and archives beyond ``limits`` are refused. The
    archive is unpacked beside ``folder`` and renamed at the end, so that a failure leaves nothing behind.
    Owners, permissions and times in the archive are ignored.

    Raises:
        ArchiveError: a ValueError that names the archive, the member and the reason.
        OSError: the folder is not empty, or the disk is full.

    Example:
        >>> import io, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     with tarfile.open(f"{place}/a.tar.gz", "w:gz") as tar:
        ...         tar.addfile(tarfile.TarInfo("notes/empty.txt"), io.BytesIO())
        ...     [file.name for file in unpack(f"{place}/a.tar.gz", f"{place}/a")]
        ['empty.txt']
    """
    archive, folder = Path(archive), Path(folder)
    if folder.is_symlink() or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FileExistsError(f"cannot unpack into {folder}: it exists and is not an empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with staging(folder) as new, _damage_named(archive):
        files = _write_members(archive, new, limits)
        if folder.exists():
            folder.rmdir()
        new.rename(folder)
    return [folder / file for file in files]


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, gone afterwards unless it was renamed."""
    new = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(8)}.part")
    new.mkdir()
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def _damage_named(archive: Path) -> Iterator[None]:
    try:
        yield
    except ArchiveError as problem:
        raise ArchiveError(f"{archive}: {problem}") from None
    except DAMAGE as problem:
        raise ArchiveError(f"{archive} is not a readable tar or zip archive: {problem}") from problem
    except OSError as problem:
        if problem.errno is not None:
            raise
        raise ArchiveError(f"{archive} is damaged: {problem}") from problem


def _write_members(archive: Path, folder: Path, limits: Limits) -> list[Path]:
    budget, names = Budget(limits, archive.stat().st_size), Names()
    files = []
    for member in _members(archive, folder, budget):
        target = folder / names.add(member.name, is_folder=member.is_folder)
        budget.spend(member.name, member.size)
        if member.is_folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        require_space(folder, member.size)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.writelines(member.read())
        files.append(target.relative_to(folder))
    return files


def _members(archive: Path, folder: Path, budget: Budget) -> Iterator[Member]:
    with open_regular(archive) as file:
        is_zip = file.read(4) in ZIP_STARTS
        if is_zip:
            check_directory(file, budget.limits.members)
    require_space(folder, min(declared_size(archive), budget.allowance) if is_zip else budget.archive_bytes)
    return zip_members(archive) if is_zip else tar_members(archive, budget)


def require_space(folder: Path, needed: int) -> None:
    """OSError unless the disk of ``folder`` has that many bytes free."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            errno.ENOSPC, f"{needed:,} bytes are needed, {free:,} are free on the disk", os.fspath(folder)
        )
