"""How many threads a CPU run uses.

In a step of a small network threads spend more time synchronising than computing: they gain little on an
idle machine, and on a busy one every operation waits for the slowest thread. Such a network is trained with
one thread, unless the user has set a number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from ..models.input_shape import Values

MOST = 1 << 26
"""Multiplications of a forward pass up to which one thread is used."""
SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_shared: int | None = None


def share(threads: int) -> None:
    """What the supervisor of several processes gives this one: a limit, not the wish of the user."""
    global _shared
    _shared = threads
    torch.set_num_threads(threads)


@contextmanager
def fitting_threads(
    model: nn.Module, sample_shape: tuple[int, ...], batch_size: int, device: torch.device
) -> Iterator[None]:
    """One thread inside for a small network on a CPU; outside everything is as it was."""
    before = torch.get_num_threads()
    if before == 1 or device.type != "cpu" or is_chosen() or not is_small(model, sample_shape, batch_size):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_small(model: nn.Module, sample_shape: tuple[int, ...], batch_size: int) -> bool:
    """Whether each weight is used once per sample, and few are.

    Example:
        >>> is_small(nn.Linear(36, 256), (36,), 128), is_small(nn.Linear(4096, 4096), (4096,), 128)
        (True, False)
    """
    are_vectors = len(sample_shape) == 1 or isinstance(getattr(model, "reads", None), Values)
    weights = list(model.parameters())
    if not are_vectors or any(weight.dim() > 2 for weight in weights):
        return False
    return sum(weight.numel() for weight in weights) * batch_size <= MOST


def is_chosen() -> bool:
    """Whether the user has said how many threads there are, by a variable or by ``torch.set_num_threads``.

    Torch does not tell what it was told, so a number other than torch would take by itself counts as chosen.
    """
    if any(os.environ.get(name) for name in SETTINGS):
        return True
    return torch.get_num_threads() not in {_shared, *usual_threads()}


def usual_threads() -> set[int]:
    """What torch takes by itself: all cores this process may use, or as many as are not halves of others."""
    allowed = getattr(os, "sched_getaffinity", None)
    usable = len(allowed(0)) if allowed else os.cpu_count() or 1
    return {usable, os.cpu_count() or 1, min(usable, _whole_cores() or usable)}


def _whole_cores() -> int | None:
    """Cores, where two processors may be halves of one; None if the system does not say."""
    try:
        blocks = Path("/proc/cpuinfo").read_text().split("\n\n")
    except OSError:
        return None
    found = set()
    for block in blocks:
        facts = {
            line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in block.splitlines()
        }
        if "core id" in facts:
            found.add((facts.get("physical id"), facts["core id"]))
    return len(found) or None
