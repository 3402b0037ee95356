"""Exit codes and one-line messages for errors, warnings and signals."""

from __future__ import annotations

import errno
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .screen import print_error

USAGE_ERROR, RUNTIME_ERROR = 2, 1
"""Exit codes: errors in the command or its data, and all other errors."""
SYSTEM_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
RUNTIME_ERRORS = ("NonFiniteError", "CaptureError", "OutOfMemoryError", "MemoryError", "RankLostError")
USAGE_ERRORS = ("RunLockedError", "OneProcessError")
"""Class names instead of classes, so that torch is not imported."""
ALLOCATOR = "DefaultCPUAllocator"
"""Part of the message of torch when main memory is exhausted."""
MORE_MEMORY = (
    "use a smaller --batch-size or --model, read the data in pieces (stream=True in its spec), or close"
    " other programs"
)
DATA_ROOT_HINT = ", or set NOISEPROOF_DATA to a folder that has it"
"""End of the message of a missing dataset."""


def exit_code(problem: BaseException) -> int | None:
    """The exit code of an error that is reported in one line; None for bugs of the library.

    Example:
        >>> exit_code(ValueError("lr=-1")), exit_code(OSError(28, "disk full")), exit_code(KeyError("x"))
        (2, 1, None)
    """
    names = {kind.__name__ for kind in type(problem).__mro__}
    if "Interrupted" in names:
        return int(problem.exit_code)  # type: ignore[attr-defined]
    if names & set(RUNTIME_ERRORS) or (isinstance(problem, OSError) and problem.errno in SYSTEM_ERRNOS):
        return RUNTIME_ERROR
    if is_out_of_memory(problem):
        return RUNTIME_ERROR
    if names & set(USAGE_ERRORS) or isinstance(problem, (ValueError, TypeError, OSError, ImportError)):
        return USAGE_ERROR
    return None


def one_line(problem: BaseException) -> str:
    """The message on one line; for a missing dataset the short form without the list of its files.

    >>> one_line(ValueError("no file.\\n  - a\\n  - b"))
    'no file. - a - b'
    """
    brief = getattr(problem, "brief", "")
    text = " ".join((f"{brief}{DATA_ROOT_HINT}" if brief else str(problem)).split())
    if is_out_of_memory(problem):
        has_advice = type(problem).__module__.startswith("noiseproof.")
        return text if has_advice else f"{text or 'out of memory'}: {MORE_MEMORY}"
    return text or type(problem).__name__


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether main memory or GPU memory is exhausted; torch reports the former as a RuntimeError."""
    names = {kind.__name__ for kind in type(problem).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or (
        isinstance(problem, RuntimeError) and ALLOCATOR in str(problem)
    )


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Exit with one line and code 130 or 143 on SIGINT or SIGTERM, also while no run is training."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show each warning as one line, without file name and line number."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Warning | str, *location: object, **options: object) -> None:
    print_error(f"warning: {message}")


def _exit(number: int, frame: FrameType | None) -> None:
    print_error(f"stopped by {signal.Signals(number).name}")
    raise SystemExit(128 + number)
