"""Device, number of threads and random state of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from ..models.input_shape import Values
from .capture import capture_lock

SMALL = 1 << 26
"""Multiplications of a forward pass up to which one thread is used."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_default_threads = torch.get_num_threads()


def pick_device(name: str) -> torch.device:
    """The device with this name; "auto" is the first GPU if there is one, else the CPU.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
        >>> pick_device("gpu")
        Traceback (most recent call last):
        ValueError: device='gpu' cannot be used: ... write "auto", "cpu", "cuda" or "cuda:1"
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        reason = str(problem).splitlines()[0]
        raise ValueError(
            f'device={name!r} cannot be used: {reason}; write "auto", "cpu", "cuda" or "cuda:1"'
        ) from None
    return device


@contextmanager
def isolated_random(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random state inside and restore it afterwards.

    >>> before = torch.get_rng_state()
    >>> with isolated_random(3, torch.device("cpu")):
    ...     _ = torch.rand(5)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    on_gpu = device.type == "cuda"
    isolation = torch.random.fork_rng(devices=[device] if on_gpu else [])
    with capture_lock:
        isolation.__enter__()
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
    try:
        yield
    finally:
        with capture_lock:
            isolation.__exit__(None, None, None)


def cores() -> int:
    """Cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def share_threads(threads: int) -> None:
    """Limit this process, one of several, to a number of threads; runs may still use fewer."""
    global _default_threads
    _default_threads = threads
    torch.set_num_threads(threads)


@contextmanager
def suitable_threads(
    model: nn.Module, sample_shape: tuple[int, ...], batch_size: int, device: torch.device
) -> Iterator[None]:
    """Context manager that uses one thread for a small network on a CPU, unless the user has set a number.

    Threads of a small network spend more time synchronising than computing: on an idle machine they gain
    little, and on a busy one every operation waits for the slowest thread.
    """
    before = torch.get_num_threads()
    is_set = before != _default_threads or any(os.environ.get(name) for name in THREAD_VARIABLES)
    if device.type != "cpu" or is_set or not is_small(model, sample_shape, batch_size):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_small(model: nn.Module, sample_shape: tuple[int, ...], batch_size: int) -> bool:
    """Whether the network has few weights and uses each once per sample.

    Example:
        >>> is_small(nn.Linear(36, 256), (36,), 128), is_small(nn.Linear(4096, 4096), (4096,), 128)
        (True, False)
    """
    are_vectors = len(sample_shape) == 1 or isinstance(getattr(model, "input_shape", None), Values)
    weights = list(model.parameters())
    if not are_vectors or any(weight.dim() > 2 for weight in weights):
        return False
    return sum(weight.numel() for weight in weights) * batch_size <= SMALL
