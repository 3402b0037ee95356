"""Processes that train one run after the other, and a supervisor that outlives them.

A worker is started fresh (spawn), so it shares nothing with its parent but a pipe. If it dies, the run it
was at has failed and another worker takes the next one.
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

Tell = Callable[[int, str, Any], None]
"""Called with the number of the run, what happened and its details."""
POLL = 0.2
"""Seconds between looks at signals, and between messages about steps."""


class Reporter(Watcher):
    """Sends what a run does to somebody else, steps not more often than they can be seen."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self.tell, self.steps, self._told = tell, 1, 0.0

    def begin(self, done: int, steps: int) -> None:
        self.steps = steps
        self.tell("begin", (done, steps))

    def step(self, done: int) -> None:
        now = time.monotonic()
        if now - self._told >= POLL:
            self._told = now
            self.tell("share", done / self.steps)

    def epoch(self, line: dict[str, Any]) -> None:
        self.tell("epoch", line)


def train_one(
    config: Config, tell: Callable[[str, Any], None], interruption: Interruption | None = None
) -> None:
    """Train a run to its end; whatever goes wrong is told, not raised, but for a wish to stop.

    ``interruption`` is given where somebody else looks after signals.
    """
    try:
        if interruption is None:
            fit(config, watcher=Reporter(tell))
        else:
            train(config, None, None, None, Reporter(tell), interruption)
    except Interrupted:
        raise
    except Exception as problem:
        _keep_traceback(config, problem)
        tell("failed", f"{type(problem).__name__}: {problem}")
    else:
        (run_folder(config) / FAILURE).unlink(missing_ok=True)
        tell("finished", None)


def _keep_traceback(config: Config, problem: Exception) -> None:
    """In the folder of the run, unless the message says it all or the folder may be that of another run."""
    folder = run_folder(config)
    if folder.is_dir() and not isinstance(problem, (ValueError, OSError)):
        with suppress(OSError):
            write_text(folder / FAILURE, "".join(traceback.format_exception(problem)))


def work(pipe: Connection, threads: int) -> None:
    """The life of a worker: runs come in, news go out. Ctrl-C is for the parent, which sends SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    share_threads(threads)
    warnings.formatwarning = lambda message, *place, **more: f"noiseproof: warning: {message}\n"
    while True:
        try:
            number, config = pipe.recv()
            train_one(config, partial(_send, pipe, number))
        except (EOFError, BrokenPipeError):  # the parent is gone, or has no more runs
            return
        except Interrupted as stop:
            raise SystemExit(stop.exit_code) from None


def _send(pipe: Connection, number: int, what: str, details: Any) -> None:
    pipe.send((number, what, details))


class Worker:
    """A process and the run it is at."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, threads), daemon=True)
        with _no_ctrl_c():
            self.process.start()
        theirs.close()
        self.run: int | None = None
        self.spoke = False

    def give(self, number: int, config: Config) -> None:
        self.run = number
        with suppress(OSError):  # it has died: its pipe will say so
            self.pipe.send((number, config))

    def stop(self) -> None:
        """Ask it to save and leave; one without a run just leaves."""
        self.pipe.close() if self.run is None else self.process.terminate()


def train_all(
    runs: list[tuple[int, Config]], jobs: int, tell: Tell, interruption: Interruption, threads: int
) -> None:
    """Train all of them, ``jobs`` at a time; returns when none is left or a signal has come."""
    waiting, workers = list(runs), list[Worker]()
    try:
        while (waiting or any(worker.run is not None for worker in workers)) and not interruption.received:
            while waiting and len(workers) < min(jobs, len(runs)):
                workers.append(Worker(threads))
                workers[-1].give(*waiting.pop(0))
            for worker in _with_news(workers):
                if not _listen(worker, tell):
                    workers.remove(worker)
                elif worker.run is None and waiting:
                    worker.give(*waiting.pop(0))
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.process.join()


def _with_news(workers: list[Worker]) -> list[Worker]:
    ready = wait([worker.pipe for worker in workers], timeout=POLL)
    return [worker for worker in workers if worker.pipe in ready]


def _listen(worker: Worker, tell: Tell) -> bool:
    """Take one message; False if the worker is dead, which its pipe says by its end."""
    try:
        number, what, details = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join()
        if worker.run is not None:
            tell(worker.run, "failed", _ending(worker.process.exitcode, worker.spoke))
        return False
    worker.spoke = True
    if what in ("finished", "failed"):
        worker.run = None
    tell(number, what, details)
    return True


def _ending(code: int | None, spoke: bool) -> str:
    reason = f"exit code {code}"
    if code is not None and code < 0:
        reason = f"signal {signal.Signals(-code).name}" + (" (out of memory?)" if code == -9 else "")
    elif not spoke:
        reason += " before it could begin: a script that compares needs if __name__ == '__main__':"
    return f"the worker process ended with {reason}"


@contextmanager
def _no_ctrl_c() -> Iterator[None]:
    """What is started here never gets SIGINT, not even before its first line."""
    if not hasattr(signal, "pthread_sigmask") or os.name == "nt":
        yield
        return
    resource_tracker.ensure_running()  # begun later it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
