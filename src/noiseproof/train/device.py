"""Where a run computes, and randomness that stays inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .capture import alone


def pick_device(name: str) -> torch.device:
    """The device of that name; "auto" is the first GPU, or the CPU.

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
    """Torch's random state begins at ``seed`` inside and is outside as it was.

    >>> before = torch.get_rng_state()
    >>> with isolated_random(3, torch.device("cpu")):
    ...     _ = torch.rand(5)
    >>> bool((torch.get_rng_state() == before).all())
    True
    """
    on_gpu = device.type == "cuda"
    isolation = torch.random.fork_rng(devices=[device] if on_gpu else [])
    with alone:
        isolation.__enter__()
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
    try:
        yield
    finally:
        with alone:
            isolation.__exit__(None, None, None)
