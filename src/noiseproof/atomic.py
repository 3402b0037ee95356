"""Atomic writes: after a crash a file has either its old or its new content.

Data are written to a temporary file in the same folder, flushed to the disk and renamed over the old file;
then the folder is flushed, which stores the new name. A process killed in between leaves the old file and
perhaps a temporary file; ``remove_temporary_files`` removes these.

Symbolic links are not followed: a link with the name of the file is replaced; a link in place of a folder, or
of a file that is written in place, is refused. So a folder from an unknown source cannot redirect a write.
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
"""Start and end of the names of temporary files; that of the target is left out, as it may be very long."""
INTACT = "the old file is unchanged"
IN_PLACE = "the new file is in place, but a power failure might remove it"
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
FREE_SPACE = "free space and run the same command again"
MAKE_WRITABLE = "make the folder writable or choose another one"
ADVICE = {
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f) or choose another disk",
    errno.EROFS: MAKE_WRITABLE,
    errno.EACCES: MAKE_WRITABLE,
    errno.EPERM: MAKE_WRITABLE,
    errno.ENOENT: "create the folder first",
    errno.ENOTDIR: "a part of the path is a file, choose another folder",
    errno.EEXIST: "a part of the path is a file, choose another folder",
    errno.EISDIR: "it is a folder, choose another name",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "replace the link by the file or folder itself",
    errno.EMLINK: "the other file would change too: copy the folder without links, or choose another one",
}


def write_bytes(path: str | os.PathLike[str], data: bytes, *, sync: bool = True) -> None:
    """Replace the content of ``path``, or create it; after any error the old content is unchanged.

    Without ``sync`` the file survives a killed process, but a power failure only after ``flush``.

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
    """Flush files that were written without ``sync`` to the disk; missing files are skipped."""
    folders = set()
    for path in map(Path, paths):
        if path.exists():
            with explained(path, state=IN_PLACE):
                _sync_path(path)
            folders.add(path.parent)
    for folder in folders:
        _sync_folder(folder)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """``write_bytes`` for text, encoded as UTF-8, with unchanged line ends."""
    write_bytes(path, text.encode("utf-8"))


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str] | None = None,
    *,
    sync: bool = True,
    checked: bool = False,
) -> None:
    """``write_bytes`` for tensors, as a safetensors file; see ``tensor_bytes``."""
    write_bytes(path, tensor_bytes(tensors, metadata, checked=checked), sync=sync)


def tensor_bytes(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None, *, checked: bool = False
) -> bytes:
    """The content of a safetensors file; equal tensors and metadata give equal bytes.

    ``checked`` adds a checksum to the metadata, which ``files.read_tensors`` verifies. Tensors may be on any
    device, share memory and have any strides.

    Example:
        >>> import torch
        >>> from safetensors.torch import load
        >>> load(tensor_bytes({"step": torch.tensor(3.0)}))
        {'step': tensor(3.)}
    """
    from safetensors.torch import save

    if "__metadata__" in tensors:
        raise ValueError("'__metadata__' is not a valid name of a tensor: safetensors reserves it")
    data: bytes = save({name: _packed(name, tensor) for name, tensor in tensors.items()})
    if not metadata and not checked:
        return data
    # safetensors writes the entries of metadata in random order
    start = 8 + int.from_bytes(data[:8], "little")
    header = {"__metadata__": dict(sorted((metadata or {}).items())), **json.loads(data[8:start])}
    values = memoryview(data)[start:]
    if checked:
        header["__metadata__"][CHECKSUM] = checksum(header, values).hexdigest()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, values))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder and its parents; OSError if it is a symbolic link."""
    with explained(path):
        Path(path).mkdir(parents=True, exist_ok=True)
    refuse_link(path)


def refuse_link(path: str | os.PathLike[str]) -> None:
    """OSError if ``path`` is a symbolic link."""
    with explained(path):
        _refuse_link(path)


def open_in_place(path: str | os.PathLike[str], flags: int) -> int:
    """A descriptor of a regular file to be modified in place, created if missing.

    OSError for a symbolic link, a pipe, a device, and a file with several hard links.
    """
    extra = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
    _refuse_link(path)
    descriptor = os.open(path, sum((getattr(os, name, 0) for name in extra), flags | os.O_CREAT), 0o666)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_nlink > 1:
            raise OSError(errno.EMLINK, "it has several hard links")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A new folder next to ``folder``, removed at the end unless it was renamed."""
    new = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(8)}.part")
    new.mkdir()
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def require_space(folder: Path, needed: int) -> None:
    """OSError unless ``needed`` bytes are free on the disk of ``folder``."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        reason = f"{needed:,} bytes are needed, {free:,} are free on the disk"
        raise OSError(errno.ENOSPC, reason, os.fspath(folder))


def remove_temporary_files(folder: str | os.PathLike[str]) -> list[str]:
    """Remove temporary files of killed processes from a folder and its subfolders; returns their names.

    The caller must hold the lock of the folder, so that no other process is writing.
    """
    found = [path for path in Path(folder).rglob(f"{PREFIX}*{SUFFIX}") if path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return sorted(path.name for path in found)


@contextmanager
def explained(
    path: str | os.PathLike[str], size: int | None = None, *, state: str = INTACT
) -> Iterator[None]:
    """Re-raise an OSError with the same type and errno and a message with path, size and remedy."""
    try:
        yield
    except OSError as problem:
        amount = "" if size is None else f"{size:,} bytes to "
        reason = problem.strerror or str(problem)
        advice = ADVICE.get(problem.errno or 0, "correct that and run the same command again")
        error = type(problem)(f"cannot write {amount}{os.fspath(path)}: {reason}; {advice}; {state}")
        error.errno = problem.errno
        raise error from problem


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
    except PermissionError:  # Windows, or a folder without read permission
        return


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Flush to the disk, if the file system supports it."""
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in CANNOT_SYNC:
            raise


def _packed(name: str, tensor: Tensor) -> Tensor:
    """A copy in main memory: safetensors refuses shared memory and drops the conjugate bit of views."""
    import torch

    if tensor.layout != torch.strided or tensor.is_meta or tensor.dtype == torch.complex128:
        kind = ", ".join(map(str, (tensor.dtype, tensor.layout, tensor.device)))
        raise ValueError(
            f"tensor {name!r} ({kind}) cannot be stored: it must be dense, not on meta, and not complex128"
        )
    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
