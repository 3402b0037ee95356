"""Stopping a run by a signal: after the first one it saves a checkpoint, the second one ends it at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from typing_extensions import Self

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGALRM") if hasattr(signal, name))
"""SIGALRM is sent when the time limit of a queue of runs has passed."""
TORCHRUN = "TORCHELASTIC_RUN_ID"
"""Set by ``torchrun`` in its processes."""


class Interruption:
    """Context manager in which the first SIGTERM or SIGINT only sets ``received``.

    The loop checks ``received`` after each step, saves, and ends with ``exit_code``, which is 128 + number of
    the signal, as in shells. A second signal of any kind ends the process at once. Signals that the process
    was started to ignore (``nohup``, background jobs of a shell) stay ignored. Does nothing outside the main
    thread, where Python has no signal handlers. Under ``torchrun``, which passes on a signal its processes
    may have received already and kills them after 30 seconds, a second signal changes nothing.

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

    def pass_on(self) -> None:
        """Raise a signal again that arrived too late for the loop, for the handlers outside."""
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
        stopped by SIGTERM after epoch 3, step 120; run the same command to go on 143
    """

    def __init__(self, number: int, folder: str | os.PathLike[str], *, epoch: int, step: int) -> None:
        name = signal.Signals(number).name
        super().__init__(f"stopped by {name} after epoch {epoch}, step {step}; run the same command to go on")
        self.number, self.folder, self.epoch, self.step = number, Path(folder), epoch, step

    @property
    def exit_code(self) -> int:
        return 128 + self.number

    def __reduce__(self) -> tuple[Any, ...]:
        return _interrupted, (self.number, self.folder, self.epoch, self.step)


def _interrupted(number: int, folder: Path, epoch: int, step: int) -> Interrupted:
    return Interrupted(number, folder, epoch=epoch, step=step)
