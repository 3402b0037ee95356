"""Files that are either the old one or the new one, never half of it.

A write goes to a temporary file of the same folder, is flushed to the disk and renamed over the old file;
then the folder is flushed, because the new name is an entry of the folder. A process killed in between leaves
the old file and perhaps a temporary one, which ``sweep`` removes.

No symbolic link is followed: a link under the name of the file is replaced, a link in place of a folder or of
a file that is written in place is refused. So a folder from a stranger cannot direct a write elsewhere.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .files import CHECKSUM, checksum

if TYPE_CHECKING:
    from torch import Tensor

PREFIX, SUFFIX = ".noiseproof-", ".unfinished"
"""Of temporary files: short, so that the file itself may have the longest name the disk allows."""
INTACT = "what was there before is intact"
IN_PLACE = "the new file is in place but might not outlive a power cut"
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
FULL = "free space and run the same command again"
CLOSED = "make the folder writable or choose another one"
ADVICE = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f) or choose another disk",
    errno.EROFS: CLOSED,
    errno.EACCES: CLOSED,
    errno.EPERM: CLOSED,
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "a part of the path is a file, choose another folder",
    errno.EEXIST: "a part of the path is a file, choose another folder",
    errno.EISDIR: "it is a folder, choose another name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "nothing is written through links: put the file or folder itself there",
    errno.EMLINK: "it would change that file, too: copy the folder without links, or choose another one",
}


def write_bytes(path: str | os.PathLike[str], data: bytes, *, sync: bool = True) -> None:
    """Replace the content of ``path``, or create it; after any error the old content is still there.

    Without ``sync`` the file outlives a kill of the process but not a power cut, until ``flush``.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_bytes(f"{folder}/a", b"new")
        ...     print(os.listdir(folder), Path(folder, "a").read_bytes())
        ['a'] b'new'
    """
    target = Path(path)
    temporary = target.parent / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
    with explained(path, len(data)):
        try:
            _write_new(temporary, data, sync)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    if sync:
        with explained(path, len(data), state=IN_PLACE):
            _sync_folder(target.parent)


def flush(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Bring files that were written without ``sync`` to the disk; those that no longer exist are skipped."""
    folders = set()
    for path in map(Path, paths):
        if path.exists():
            with explained(path, state=IN_PLACE):
                _sync_path(path)
            folders.add(path.parent)
    for folder in folders:
        _sync_folder(folder)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The same for text, in UTF-8 and with line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    sync: bool = True,
    checked: bool = False,
) -> None:
    """The same for tensors, as a safetensors file; see ``tensor_bytes``."""
    write_bytes(path, tensor_bytes(tensors, metadata, checked=checked), sync=sync)


def tensor_bytes(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None, *, checked: bool = False
) -> bytes:
    """The content of a safetensors file: the same bytes for the same tensors and metadata, always.

    ``checked`` adds a checksum to the metadata, which ``files.read_tensors`` compares. Tensors may lie on any
    device, share memory and have any strides: each is stored whole.

    Example:
        >>> import torch
        >>> from safetensors.torch import load
        >>> load(tensor_bytes({"step": torch.tensor(3.0)}))
        {'step': tensor(3.)}
    """
    from safetensors.torch import save

    if "__metadata__" in tensors:
        raise ValueError("a tensor cannot be called '__metadata__': safetensors keeps that name for itself")
    data: bytes = save({name: _packed(name, tensor) for name, tensor in tensors.items()})
    if not metadata and not checked:
        return data
    # safetensors itself writes several entries of metadata in a random order
    start = 8 + int.from_bytes(data[:8], "little")
    header = {"__metadata__": dict(sorted((metadata or {}).items())), **json.loads(data[8:start])}
    values = memoryview(data)[start:]
    if checked:
        header["__metadata__"][CHECKSUM] = checksum(header, values).hexdigest()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, values))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and those above it; OSError if a symbolic link stands in its place."""
    with explained(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    refuse_link(path)


def refuse_link(path: str | os.PathLike[str]) -> None:
    """OSError if ``path`` is a symbolic link; nothing if it is anything else, or not there."""
    with explained(path):
        _refuse_link(path)


def open_in_place(path: str | os.PathLike[str], flags: int) -> int:
    """A descriptor of a regular file that is changed where it lies, created if it is not there.

    OSError for a symbolic link, for a pipe or device, and for a file that has a second name elsewhere.
    """
    extra = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
    _refuse_link(path)
    descriptor = os.open(path, sum((getattr(os, name, 0) for name in extra), flags | os.O_CREAT), 0o666)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_nlink > 1:
            raise OSError(errno.EMLINK, "another file name is linked to it")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, gone afterwards unless it was renamed."""
    new = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(8)}.part")
    new.mkdir()
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def require_space(folder: Path, needed: int) -> None:
    """OSError unless the disk of ``folder`` has that many bytes free."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        told = f"{needed:,} bytes are needed, {free:,} are free on the disk"
        raise OSError(errno.ENOSPC, told, os.fspath(folder))


def sweep(folder: str | os.PathLike[str]) -> list[str]:
    """Remove what killed processes left unfinished in a folder and the folders in it; return the names.

    Only for a folder in which no other process is writing: hold its lock.
    """
    found = [path for path in Path(folder).rglob(f"{PREFIX}*{SUFFIX}") if path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return sorted(path.name for path in found)


@contextmanager
def explained(
    path: str | os.PathLike[str], size: int | None = None, *, state: str = INTACT
) -> Iterator[None]:
    """An OSError inside becomes one of the same kind and errno that names path, size and what to do."""
    try:
        yield
    except OSError as problem:
        amount = "" if size is None else f"{size:,} bytes to "
        reason = problem.strerror or str(problem)
        advice = ADVICE.get(problem.errno or 0, "correct that and run the same command again")
        told = type(problem)(f"cannot write {amount}{os.fspath(path)}: {reason}; {advice}; {state}")
        told.errno = problem.errno
        raise told from problem


def _refuse_link(path: str | os.PathLike[str]) -> None:
    if os.path.islink(path):
        raise OSError(errno.ELOOP, "it is a symbolic link")


def _write_new(path: Path, data: bytes, sync: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    try:
        _sync_path(folder)
    except PermissionError:  # Windows, or a folder one may write to but not read
        return


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Flush to the disk; skipped on file systems that do not support it."""
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in CANNOT_SYNC:
            raise


def _packed(name: str, tensor: Tensor) -> Tensor:
    """A copy in main memory: safetensors refuses shared memory and forgets that views are conjugated."""
    import torch

    if tensor.layout != torch.strided or tensor.is_meta or tensor.dtype == torch.complex128:
        kind = ", ".join(map(str, (tensor.dtype, tensor.layout, tensor.device)))
        raise ValueError(
            f"tensor {name!r} ({kind}) cannot be stored: make it dense, on a device, not complex128"
        )
    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
