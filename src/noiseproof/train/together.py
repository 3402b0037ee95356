"""Runs that share a GPU and a process: each in a thread, on a stream of its own.

Captured steps leave the host free, so one process can keep several runs going; kernels of one run fill what
those of another leave idle. Processes of their own could not: a GPU gives its time to one process after the
other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from .compare_workers import POLL, Tell, train_one
from .config import Config
from .device import pick_device
from .interrupt import Interrupted, Interruption

MOST = 8
"""Runs at the same time, if nobody says: 12 bring no more (benchmarks/logs/training_h200_first.log)."""
MEMORY = 6 << 30
"""Free memory a run must find: plenty for the networks of the papers, so that a capture never runs out."""


def can_share(config: Config) -> bool:
    """Whether a run may have neighbours in its process: on a GPU, captured, without shared random numbers."""
    on_gpu = pick_device(config.device).type == "cuda"
    return on_gpu and config.loop != "plain" and not config.dropout and ":" not in config.model


def room(config: Config) -> int:
    """How many such runs the free memory of the GPU has room for, at most ``MOST``."""
    free, _ = torch.cuda.mem_get_info(pick_device(config.device))
    return max(1, min(MOST, free // MEMORY))


def train_together(
    runs: Sequence[tuple[int, Config]], jobs: int, tell: Tell, interruption: Interruption
) -> None:
    """Train all of them, ``jobs`` at a time; returns when none is left or a signal has come."""
    waiting, lock = list(runs), threading.Lock()

    def tell_in_turn(number: int, what: str, details: Any) -> None:
        with lock:
            tell(number, what, details)

    def work() -> None:
        while interruption.received is None:
            with lock:
                if not waiting:
                    return
                number, config = waiting.pop(0)
            _train_on_own_stream(config, partial(tell_in_turn, number), interruption)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(runs)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # a wait without an end would keep signals from being handled
            thread.join(POLL)


def _train_on_own_stream(
    config: Config, tell: Callable[[str, Any], None], interruption: Interruption
) -> None:
    device = pick_device(config.device)
    stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
    try:
        with torch.cuda.stream(stream):
            train_one(config, tell, interruption)
    except Interrupted:
        return
