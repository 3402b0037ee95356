"""How much memory there is, and what is too large for it."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

SHARE = 4
"""Data above one part in so many of the available memory is streamed unless set otherwise."""
UNKNOWN = 1 << 32
"""Bytes assumed where the system does not say."""


def is_large(size: int) -> bool:
    """Whether ``size`` bytes are more than a quarter of the memory that is available now."""
    return size * SHARE > available_memory()


def available_memory() -> int:
    """Bytes this process can still get: what the machine has free, or less if container or limits say so.

    Example:
        >>> available_memory() > 0
        True
    """
    found = [_free_of_machine(), _free_of_container(), *_free_of_limits()]
    return max(0, min([size for size in found if size is not None], default=UNKNOWN))


def _free_of_machine() -> int | None:
    free = _entries(Path("/proc/meminfo")).get("MemAvailable")
    if free is not None:
        return free
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None


def _free_of_container(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Pages of files do not count as used: the system frees them when memory is short."""
    try:
        most = int((folder / "memory.max").read_text())
        used = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return most - int(used["anon"])
    except (OSError, ValueError, KeyError):  # no container, or one without a limit
        return None


def _free_of_limits() -> list[int]:
    """What the limits on data and address space leave (``ulimit -d`` and ``-v``)."""
    try:
        import resource
    except ImportError:  # not on Windows
        return []
    used = _entries(Path("/proc/self/status"))
    limits = [(resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")]
    most = [(resource.getrlimit(limit)[0], used.get(word, 0)) for limit, word in limits]
    return [limit - size for limit, size in most if limit != resource.RLIM_INFINITY]


def _entries(path: Path) -> dict[str, int]:
    """Lines such as ``MemAvailable:  1024 kB``, in bytes."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0].rstrip(":"): int(line[1]) * 1024 for line in lines if line[2:] == ["kB"]}


def on_the_cpu() -> AbstractContextManager[object]:
    """Inside, tensors are made on the CPU, whatever ``torch.set_default_device`` was called with.

    Data, records and random orders live there; what belongs on a GPU is put there by name.

    Example:
        >>> with torch.device("meta"), on_the_cpu():
        ...     torch.zeros(2).device
        device(type='cpu')
    """
    cpu = torch.device("cpu")
    return nullcontext() if torch.get_default_device() == cpu else cpu
