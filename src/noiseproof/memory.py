"""Available memory, and whether data are too large for it."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

STREAMING_DIVISOR = 4
"""Data larger than the available memory divided by this number are streamed by default."""
UNKNOWN = 1 << 32
"""Bytes assumed if the available memory is unknown."""


def is_large(size: int) -> bool:
    """Whether ``size`` bytes exceed a quarter of the memory that is available now."""
    return size * STREAMING_DIVISOR > available_memory()


def available_memory() -> int:
    """Bytes that this process can still allocate, by the free memory, the container and resource limits.

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
    """Free memory of the cgroup; cached file pages do not count as used, since the system frees them."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - int(used["anon"])
    except (OSError, ValueError, KeyError):  # no container, or one without a limit
        return None


def _free_of_limits() -> list[int]:
    """Bytes left under the limits on data and address space (``ulimit -d`` and ``-v``)."""
    try:
        import resource
    except ImportError:  # not on Windows
        return []
    used = _entries(Path("/proc/self/status"))
    limits = [(resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")]
    sizes = [(resource.getrlimit(limit)[0], used.get(word, 0)) for limit, word in limits]
    return [limit - size for limit, size in sizes if limit != resource.RLIM_INFINITY]


def _entries(path: Path) -> dict[str, int]:
    """Parse lines such as ``MemAvailable:  1024 kB`` to bytes by name."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0].rstrip(":"): int(line[1]) * 1024 for line in lines if line[2:] == ["kB"]}


def on_the_cpu() -> AbstractContextManager[object]:
    """Context in which new tensors are on the CPU, independent of ``torch.set_default_device``.

    Data, records and random orders are on the CPU; tensors for a GPU are moved there explicitly.

    Example:
        >>> with torch.device("meta"), on_the_cpu():
        ...     torch.zeros(2).device
        device(type='cpu')
    """
    cpu = torch.device("cpu")
    return nullcontext() if torch.get_default_device() == cpu else cpu
