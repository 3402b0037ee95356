"""Progress of a run on stderr: a bar in a terminal, otherwise lines."""

from __future__ import annotations

import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..train import Config, Watcher
from ..train.callbacks import epoch_words

SECONDS = 5.0
"""Time between two lines outside a terminal."""


def run_watcher(config: Config, quiet: bool = False) -> Watcher:
    """A watcher that shows progress in the form that suits stderr."""
    if quiet:
        return Watcher()
    return ProgressBar(config) if sys.stderr.isatty() else ProgressLines(config)


class ProgressLines(Watcher):
    """Writes a line for the first and the last epoch, and every few seconds between them."""

    def __init__(self, config: Config) -> None:
        self.config, self._last_line, self._start = config, -SECONDS, 0.0
        self.done = self.first = self.steps = 0

    def begin(self, done: int, steps: int) -> None:
        self.done = self.first = done
        self.steps, self._start = steps, time.monotonic()
        if done:
            write_line(resuming(self.config, done, steps))

    def step(self, done: int) -> None:
        self.done = done

    def epoch(self, line: dict[str, Any]) -> None:
        now = time.monotonic()
        if self.done >= self.steps or now - self._last_line >= SECONDS:
            self._last_line = now
            pace = (now - self._start) / max(1, self.done - self.first)
            write_line(
                f"{epoch_words(self.config, line)}, {time_words(pace * (self.steps - self.done))} left"
            )


class ProgressBar(Watcher):
    """Shows a bar with epoch, accuracy and remaining time."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.progress = bar()
        self.task = self.progress.add_task("loading", total=None)
        self.progress.start()

    def begin(self, done: int, steps: int) -> None:
        if done:
            self.progress.console.print(resuming(self.config, done, steps), highlight=False)
        self.progress.update(self.task, completed=done, total=steps, description="training")

    def step(self, done: int) -> None:
        self.progress.update(self.task, completed=done)

    def epoch(self, line: dict[str, Any]) -> None:
        self.progress.update(self.task, description=epoch_words(self.config, line))

    def close(self) -> None:
        self.progress.stop()


def bar() -> Progress:
    """A rich progress bar on stderr."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def write_line(text: str) -> None:
    """Write one line to stderr and flush."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def resuming(config: Config, done: int, steps: int) -> str:
    """
    >>> resuming(Config(epochs=10), 35, 100), resuming(Config(iterations=100), 35, 100)
    ('resuming at epoch 4', 'resuming at step 36')
    """
    if config.epochs is None or config.is_default_length:
        return f"resuming at step {done + 1}"
    return f"resuming at epoch {done * config.epochs // steps + 1}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def time_words(seconds: float) -> str:
    """
    >>> time_words(7), time_words(200), time_words(7300)
    ('7 s', '3 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
