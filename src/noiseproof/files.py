"""Read files from unknown sources: regular files only, up to a maximum size.

An untrusted folder can contain a pipe that blocks, a link to an endless device, or a file whose size or
header exceeds memory. Run folders, labels, weights and images are opened through this module, which checks
the kind and the size of a file before it allocates memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from torch import Tensor

MAX_JSON_BYTES = 1 << 25
"""Largest JSON file and largest header of a safetensors file, in bytes."""
BLOCK = 1 << 20
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
CHECKSUM = "sha256"
"""Key in the metadata of a safetensors file: hash of the rest of the header and of the tensors."""


class DamagedFileError(ValueError):
    """A file is damaged or of the wrong kind; ``reason`` is the message without the path."""

    def __init__(
        self, path: str | os.PathLike[str], reason: str, *, state: str = "", remedy: str = ""
    ) -> None:
        what = f"{os.fspath(path)} {state}" if state else f"cannot read {os.fspath(path)}"
        super().__init__(f"{what}: {reason}{f'; {remedy}' if remedy else ''}")
        self.reason = reason


def open_regular(path: str | os.PathLike[str], max_bytes: int | None = None) -> BinaryIO:
    """Open a file for reading; DamagedFileError unless it is a regular file of at most ``max_bytes`` bytes.

    Links are followed; pipes and devices are refused without waiting for them.

    Example:
        >>> open_regular("/")
        Traceback (most recent call last):
        noiseproof.files.DamagedFileError: cannot read /: it is not a regular file but a folder
    """
    _check_kind(path, os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb")
    try:
        status = os.fstat(file.fileno())
        _check_kind(path, status)
        if max_bytes is not None and status.st_size > max_bytes:
            raise too_large(path, status.st_size, max_bytes)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The content of a regular file of at most ``max_bytes`` bytes; bytes appended meanwhile are not read."""
    with open_regular(path, max_bytes) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def read_json(path: str | os.PathLike[str], max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file; DamagedFileError if it contains anything else."""
    content = read_bytes(path, max_bytes)
    try:
        found = parse_json(content)
    except ValueError as problem:
        raise DamagedFileError(path, str(problem)) from None
    if not isinstance(found, dict):
        raise DamagedFileError(path, "it does not contain a JSON object")
    return found


def parse_json(text: bytes | str) -> Any:
    """Parse a JSON text; ValueError if it is not valid or nested too deeply."""
    try:
        return json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is not valid JSON: nested too deeply") from None
    except ValueError as problem:
        raise ValueError(f"it is not valid JSON: {problem}") from None


def read_tensors(path: str | os.PathLike[str], max_bytes: int) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file of at most ``max_bytes`` bytes.

    DamagedFileError if it is damaged or its checksum is wrong. Files without a checksum, as written by other
    programs and version 0.1.0, are read without this check.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    try:
        metadata = _checked_metadata(path, max_bytes)
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except DamagedFileError:
        raise
    except (SafetensorError, ValueError, RuntimeError, TypeError, KeyError, OverflowError) as problem:
        raise DamagedFileError(path, " ".join(str(problem).split())) from None


def checksum(header: Mapping[str, Any], *blocks: bytes | memoryview) -> Any:
    """A hashlib object of a safetensors header, without its checksum, and of ``blocks`` of tensor data."""
    metadata = {name: value for name, value in header.get("__metadata__", {}).items() if name != CHECKSUM}
    plain = {name: value for name, value in header.items() if name != "__metadata__"}
    digest = hashlib.sha256(json.dumps([metadata, plain], sort_keys=True).encode())
    for block in blocks:
        digest.update(block)
    return digest


def _checked_metadata(path: Path, max_bytes: int) -> dict[str, str]:
    with open_regular(path, max_bytes) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(MAX_JSON_BYTES, os.fstat(file.fileno()).st_size):
            raise ValueError(f"its header has the invalid length {length:,}")
        header = parse_json(file.read(length))
        metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("its header is not a valid safetensors header")
        expected = metadata.pop(CHECKSUM, None)
        if expected is not None:
            digest = checksum(header)
            while block := file.read(BLOCK):
                digest.update(block)
            if digest.hexdigest() != expected:
                raise ValueError("its checksum is wrong: its content has changed since it was written")
    return metadata


def too_large(path: str | os.PathLike[str], size: int, max_bytes: int) -> DamagedFileError:
    return DamagedFileError(path, f"it has {size:,} bytes, more than {max_bytes:,}")


def _check_kind(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise DamagedFileError(path, f"it is not a regular file but {kind}")
