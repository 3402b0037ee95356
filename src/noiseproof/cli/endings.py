"""How the command line ends: signals and errors as one line and an exit code."""

from __future__ import annotations

import errno
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .screen import complain

MISTAKE, FAILURE = 2, 1
"""Exit codes: mistakes in the command, and everything else."""
NOBODYS_MISTAKE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
FAILURES = ("NonFiniteError", "CaptureError", "OutOfMemoryError", "MemoryError", "RankLostError")
MISTAKES = ("RunLockedError", "OneProcessError")
"""By name, so that knowing them does not load torch."""
ALLOCATOR = "DefaultCPUAllocator"
"""How torch begins to say that memory ran out."""
MORE_MEMORY = (
    "use a smaller --batch-size or --model, read the data in pieces (stream=True in its spec), or close"
    " other programs"
)
ELSEWHERE = ", or set NOISEPROOF_DATA to a folder that has it"
"""How the message of a missing dataset ends."""


def exit_code(problem: BaseException) -> int | None:
    """The exit code of an error that is reported in one line; None for faults of the library.

    Example:
        >>> exit_code(ValueError("lr=-1")), exit_code(OSError(28, "disk full")), exit_code(KeyError("x"))
        (2, 1, None)
    """
    names = {kind.__name__ for kind in type(problem).__mro__}
    if "Interrupted" in names:
        return int(problem.exit_code)  # type: ignore[attr-defined]
    if names & set(FAILURES) or (isinstance(problem, OSError) and problem.errno in NOBODYS_MISTAKE):
        return FAILURE
    if is_lack_of_memory(problem):
        return FAILURE
    if names & set(MISTAKES) or isinstance(problem, (ValueError, TypeError, OSError, ImportError)):
        return MISTAKE
    return None


def one_line(problem: BaseException) -> str:
    """The message without line ends; of a dataset that is missing, without the list of all it may consist of.

    >>> one_line(ValueError("no file.\\n  - a\\n  - b"))
    'no file. - a - b'
    """
    brief = getattr(problem, "brief", "")
    text = " ".join((f"{brief}{ELSEWHERE}" if brief else str(problem)).split())
    if is_lack_of_memory(problem):
        own = type(problem).__module__.startswith("noiseproof.")  # which says itself what to do
        return text if own else f"{text or 'out of memory'}: {MORE_MEMORY}"
    return text or type(problem).__name__


def is_lack_of_memory(problem: BaseException) -> bool:
    """Whether memory ran out, of the machine or of the GPU; torch says so of the first in a RuntimeError."""
    names = {kind.__name__ for kind in type(problem).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or (
        isinstance(problem, RuntimeError) and ALLOCATOR in str(problem)
    )


@contextmanager
def polite_signals() -> Iterator[None]:
    """SIGINT and SIGTERM end in one line and 130 or 143 also where no run is there to be saved."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """A warning is one line for the user, without the place in the library that gave it."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Warning | str, *place: object, **more: object) -> None:
    complain(f"warning: {message}")


def _leave(number: int, frame: FrameType | None) -> None:
    complain(f"stopped by {signal.Signals(number).name}")
    raise SystemExit(128 + number)
