"""Members of a tar archive, read forwards only and never further than a budget allows."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from .limits import CHUNK, ArchiveError, Budget, Member

PER_MEMBER = 2048
"""Bytes of headers and padding of one member that do not count as unpacked size."""
MOST_MEMORY = 1 << 28
"""Memory an xz stream may ask for (its highest preset needs 65 MiB)."""
OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}

KINDS = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a fifo"}


class BoundedStream:
    """The unpacked bytes of a tar file: no jumps back, no giant reads, an end to its length.

    ``tarfile`` reads the whole of a name or attribute header at once, whatever size it claims; and it
    takes a damaged header for the end of the archive. Both are stopped here.
    """

    def __init__(self, source: IO[bytes], budget: Budget) -> None:
        self.source = source
        self.budget = budget
        self.left = budget.allowance + 64 * 1024
        self.position = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        if not 0 <= size <= CHUNK:
            raise ArchiveError(f"a header at byte {self.position} claims {size:,} bytes")
        self.last = self.source.read(size)
        self.position += len(self.last)
        self.left -= len(self.last)
        if self.left < 0:
            raise ArchiveError(f"it unpacks to over {self.position:,} bytes{self.budget.rule()}")
        return self.last

    def tell(self) -> int:
        return self.position

    def seek(self, position: int) -> None:
        if position < self.position:
            raise ArchiveError(f"a header points back from byte {self.position} to {position}")
        while self.position < position:
            if not self.read(min(CHUNK, position - self.position)):
                raise ArchiveError(f"it ends at byte {self.position}, in the middle of a member")

    def read_exactly(self, start: int, size: int) -> Iterator[bytes]:
        self.seek(start)
        while size:
            chunk = self.read(min(CHUNK, size))
            if not chunk:
                raise ArchiveError(f"it ends at byte {self.position}, in the middle of a member")
            size -= len(chunk)
            yield chunk

    def finish(self) -> None:
        """After the last member: the archive must end here, its checksum is compared."""
        if len(self.last) not in (0, tarfile.BLOCKSIZE) or any(self.last):
            raise ArchiveError(f"the header before byte {self.position} is damaged")
        while self.read(CHUNK):
            pass


def tar_members(path: Path, budget: Budget) -> Iterator[Member]:
    """Files and folders of a tar archive, plain or compressed; anything else in it is an error."""
    with ExitStack() as stack:
        stream = BoundedStream(stack.enter_context(_open(path)), budget)
        tar = stack.enter_context(tarfile.TarFile(fileobj=cast(Any, stream), encoding="utf-8"))
        while (found := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined]
            stream.left += PER_MEMBER
            yield _member(found, stream)
        stream.finish()


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        start = file.read(4096)
    for magic, opener in OPENERS.items():
        if start.startswith(magic):
            if opener is lzma.open:
                lzma.LZMADecompressor(memlimit=MOST_MEMORY).decompress(start, max_length=1)
            return cast("IO[bytes]", opener(path, "rb"))
    return path.open("rb")


def _member(found: tarfile.TarInfo, stream: BoundedStream) -> Member:
    is_folder = found.type == tarfile.DIRTYPE
    is_file = found.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not found.issparse()
    if not (is_file or is_folder):
        kind = "a sparse file" if found.issparse() else KINDS.get(found.type, f"of type {found.type!r}")
        raise ArchiveError(f"member {found.name!r} is {kind}: only plain files and folders are unpacked")
    start, size = found.offset_data, found.size
    return Member(found.name, is_folder, 0 if is_folder else size, lambda: stream.read_exactly(start, size))
