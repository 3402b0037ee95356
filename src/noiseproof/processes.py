"""Helpers for processes of torch.distributed, and handling of signals that stop a run."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, distributed
from typing_extensions import Self

_same_rows = False


@contextmanager
def same_rows() -> Iterator[None]:
    """Context in which every process computes all rows of a batch, so that losses do not communicate."""
    global _same_rows
    before, _same_rows = _same_rows, True
    try:
        yield
    finally:
        _same_rows = before


def count() -> int:
    """Number of processes that share the rows of a batch; 1 without torch.distributed."""
    return distributed.get_world_size() if _is_ready() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return distributed.get_rank() if _is_ready() else 0


def _is_ready() -> bool:
    return not _same_rows and distributed.is_available() and distributed.is_initialized()


def collective_device(device: torch.device) -> torch.device:
    """The device of tensors for collectives: ``device`` if the backend supports it, else the current GPU."""
    if count() > 1 and device.type == "cpu" and distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return device


def is_first_owner(seen: Tensor) -> Tensor:
    """Mask of the elements whose owner is this process: the lowest rank where ``seen`` is true."""
    owner = torch.where(seen, rank(), count()).to(torch.int32)
    if count() > 1:
        distributed.all_reduce(owner, op=distributed.ReduceOp.MIN)
    return seen & (owner == rank())


def values_of_owner(values: Tensor, mine: Tensor, missing: float) -> Tensor:
    """The value of each row from the process where ``mine`` is true; ``missing`` if there is none."""
    found, owned = torch.where(mine, values, 0), mine.to(torch.int32)
    if count() > 1:
        distributed.all_reduce(found)
        distributed.all_reduce(owned)
    return torch.where(owned > 0, found, missing).to(values.dtype)


def maximum(number: int, device: torch.device) -> int:
    """The maximum of ``number`` over all processes."""
    if count() == 1:
        return number
    found = torch.tensor(number, dtype=torch.int64, device=collective_device(device))
    distributed.all_reduce(found, op=distributed.ReduceOp.MAX)
    return int(found)


SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGALRM") if hasattr(signal, name))
"""SIGALRM is sent at the time limit of a queue of runs."""
TORCHRUN = "TORCHELASTIC_RUN_ID"
"""Set by ``torchrun`` in its processes."""


class Interruption:
    """Context manager in which the first SIGTERM or SIGINT only sets ``received``.

    The loop checks ``received`` after each step, saves, and exits with ``exit_code``, which is 128 + signal
    number, as in shells. A second signal ends the process at once. Signals that were ignored when the process
    started (``nohup``, background jobs of a shell) stay ignored. Does nothing outside the main thread, where
    Python has no signal handlers. Under ``torchrun``, which forwards a signal that its processes may have
    received already and kills them after 30 seconds, a second signal is ignored.

    Example:
        >>> with Interruption() as interruption:
        ...     signal.raise_signal(signal.SIGTERM)
        ...     interruption.received, interruption.exit_code
        (15, 143)
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """0 without a signal."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *problem: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def raise_again(self) -> None:
        """Raise the received signal for the outer handlers, if the loop has already ended."""
        if self.received is not None:
            signal.raise_signal(self.received)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is None or TORCHRUN in os.environ:
            self.received = self.received or number
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(128 + number)


class Interrupted(Exception):  # noqa: N818 - not an error
    """Raised when a signal stopped a run; a checkpoint is saved and the run can be resumed.

    Example:
        >>> stop = Interrupted(15, "runs/a", epoch=3, step=120)
        >>> print(stop, stop.exit_code)
        stopped by SIGTERM after epoch 3, step 120; run the same command to resume 143
    """

    def __init__(self, number: int, folder: str | os.PathLike[str], *, epoch: int, step: int) -> None:
        name = signal.Signals(number).name
        super().__init__(
            f"stopped by {name} after epoch {epoch}, step {step}; run the same command to resume"
        )
        self.number, self.folder, self.epoch, self.step = number, Path(folder), epoch, step

    @property
    def exit_code(self) -> int:
        return 128 + self.number

    def __reduce__(self) -> tuple[Any, ...]:
        return _interrupted, (self.number, self.folder, self.epoch, self.step)


def _interrupted(number: int, folder: Path, epoch: int, step: int) -> Interrupted:
    return Interrupted(number, folder, epoch=epoch, step=step)
