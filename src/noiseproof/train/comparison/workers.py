"""Worker processes that train one run after the other, and the loop of the parent process.

A worker is started by spawn and shares nothing with its parent except a pipe. If a worker dies, its current
run counts as failed and another worker is started for the next run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from ...atomic import write_text
from ...devices.device import share_threads
from ...dynamics.run_folder import FAILURE
from ...processes import Interrupted, Interruption
from ..callbacks import Watcher
from ..config import Config, run_folder
from ..loop import fit, train

Notify = Callable[[int, str, Any], None]
"""Called with the number of a run, an event and its details, see ``ComparisonWatcher.update``."""
POLL = 0.2
"""Seconds between checks for signals, and between messages about steps."""


class Reporter(Watcher):
    """Sends the events of a run, and its progress at most every ``POLL`` seconds."""

    def __init__(self, notify: Callable[[str, Any], None]) -> None:
        self.notify, self.steps, self._last_sent = notify, 1, 0.0

    def begin(self, done: int, steps: int) -> None:
        self.steps = steps
        self.notify("begin", (done, steps))

    def step(self, done: int) -> None:
        now = time.monotonic()
        if now - self._last_sent >= POLL:
            self._last_sent = now
            self.notify("share", done / self.steps)

    def epoch(self, line: dict[str, Any]) -> None:
        self.notify("epoch", line)


def train_one(
    config: Config, notify: Callable[[str, Any], None], interruption: Interruption | None = None
) -> None:
    """Train a run; an error becomes the event "failed", and only Interrupted is raised.

    ``interruption`` is given if the caller handles signals.
    """
    try:
        if interruption is None:
            fit(config, watcher=Reporter(notify))
        else:
            train(config, None, None, None, Reporter(notify), interruption)
    except Interrupted:
        raise
    except Exception as problem:
        _write_traceback(config, problem)
        notify("failed", f"{type(problem).__name__}: {problem}")
    else:
        (run_folder(config) / FAILURE).unlink(missing_ok=True)
        notify("finished", None)


def _write_traceback(config: Config, problem: Exception) -> None:
    """Write the traceback into the folder of the run, except for errors of settings, data and files."""
    folder = run_folder(config)
    if folder.is_dir() and not isinstance(problem, (ValueError, OSError)):
        with suppress(OSError):
            write_text(folder / FAILURE, "".join(traceback.format_exception(problem)))


def worker_main(pipe: Connection, threads: int) -> None:
    """Receive runs, train them and send their events. The parent handles Ctrl-C and sends SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    share_threads(threads)
    warnings.formatwarning = lambda message, *place, **more: f"noiseproof: warning: {message}\n"
    while True:
        try:
            number, config = pipe.recv()
            train_one(config, partial(_send, pipe, number))
        except (EOFError, BrokenPipeError):  # the parent has ended or has no more runs
            return
        except Interrupted as stop:
            raise SystemExit(stop.exit_code) from None


def _send(pipe: Connection, number: int, event: str, details: Any) -> None:
    pipe.send((number, event, details))


class Worker:
    """A worker process and the number of its current run."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=worker_main, args=(theirs, threads), daemon=True)
        with _sigint_blocked():
            self.process.start()
        theirs.close()
        self.run: int | None = None
        self.has_sent = False

    def assign(self, number: int, config: Config) -> None:
        self.run = number
        with suppress(OSError):  # a dead worker is noticed when its pipe is read
            self.pipe.send((number, config))

    def stop(self) -> None:
        """Ask the worker to save a checkpoint and exit; a worker without a run exits at once."""
        self.pipe.close() if self.run is None else self.process.terminate()


def train_in_processes(
    runs: list[tuple[int, Config]], jobs: int, notify: Notify, interruption: Interruption, threads: int
) -> None:
    """Train the runs, ``jobs`` at a time; returns when all have ended or after a signal."""
    waiting, workers = list(runs), list[Worker]()
    try:
        while (waiting or any(worker.run is not None for worker in workers)) and not interruption.received:
            while waiting and len(workers) < min(jobs, len(runs)):
                workers.append(Worker(threads))
                workers[-1].assign(*waiting.pop(0))
            for worker in _with_messages(workers):
                if not _receive(worker, notify):
                    workers.remove(worker)
                elif worker.run is None and waiting:
                    worker.assign(*waiting.pop(0))
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.process.join()


def _with_messages(workers: list[Worker]) -> list[Worker]:
    ready = wait([worker.pipe for worker in workers], timeout=POLL)
    return [worker for worker in workers if worker.pipe in ready]


def _receive(worker: Worker, notify: Notify) -> bool:
    """Receive one message; False if the worker is dead, which closes its pipe."""
    try:
        number, event, details = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        if worker.run is not None:
            notify(worker.run, "failed", _exit_reason(worker.process.exitcode, worker.has_sent))
        return False
    worker.has_sent = True
    if event in ("finished", "failed"):
        worker.run = None
    notify(number, event, details)
    return True


def _exit_reason(code: int | None, has_sent: bool) -> str:
    reason = f"exit code {code}"
    if code is not None and code < 0:
        reason = f"signal {signal.Signals(-code).name}" + (" (out of memory?)" if code == -9 else "")
    elif not has_sent:
        reason += " before its first run: a script that calls compare needs if __name__ == '__main__':"
    return f"the worker process ended with {reason}"


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Processes started in this block never receive SIGINT, not even while Python starts."""
    if not hasattr(signal, "pthread_sigmask") or os.name == "nt":
        yield
        return
    resource_tracker.ensure_running()  # if it started later, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
