"""Progress of several runs on stderr: one bar in a terminal, otherwise a line for each run that ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from ..train import ComparisonWatcher, Config
from .progress import bar, percent, time_words, write_line


def comparison_watcher(quiet: bool = False) -> ComparisonWatcher:
    """A watcher that shows progress in the form that suits stderr."""
    if quiet:
        return ComparisonWatcher()
    return ComparisonBar() if sys.stderr.isatty() else ComparisonLines()


def name_of(config: Config, others: Sequence[Config]) -> str:
    """Loss or method and seed of a run, with those of data, noise and model in which the runs differ.

    Example:
        >>> runs = [Config(), Config(noise="pair(0.2)"), Config(noise="pair(0.2)", model="mlp(hidden=8)")]
        >>> [name_of(run, runs) for run in runs[:2]]
        ['ce, labels as given, mlp, seed 0', 'ce, pair(0.2), mlp, seed 0']
    """
    words = [config.method or config.loss]
    for name in ("data", "noise", "model"):
        if len({getattr(other, name) for other in others}) > 1:
            words.append(getattr(config, name) or "labels as given")
    return ", ".join([*words, f"seed {config.seed}"])


class ComparisonLines(ComparisonWatcher):
    """Counts runs; an unfinished run counts by its share of steps."""

    def __init__(self) -> None:
        self.configs: Sequence[Config] = ()
        self.runs = self.kept = self.ended = 0
        self.shares: dict[Config, float] = {}
        self.accuracy: dict[Config, float | None] = {}
        self._start = 0.0

    def begin(self, configs: Sequence[Config], kept: int) -> None:
        self.configs, self.runs, self.kept, self.ended = configs, len(configs), kept, 0
        self._start = time.monotonic()
        if kept:
            self.show(f"{kept} of {len(configs)} runs are finished already")

    def update(self, config: Config, event: str, details: Any) -> None:
        if event == "begin":
            self.shares[config] = details[0] / details[1]
        elif event == "share":
            self.shares[config] = details
        elif event == "epoch":
            self.accuracy[config] = details.get("test_accuracy")
        else:
            self.shares.pop(config, None)
            self.ended += 1
            self.show(self.ending(config, event, details))

    @property
    def done(self) -> float:
        return self.kept + self.ended + sum(self.shares.values())

    def remaining_time(self) -> str:
        worked = self.done - self.kept
        seconds = (time.monotonic() - self._start) / worked * (self.runs - self.done) if worked else 0.0
        return time_words(seconds)

    def ending(self, config: Config, event: str, details: Any) -> str:
        name = f"{self.kept + self.ended}/{self.runs} {name_of(config, self.configs)}"
        if event == "failed":
            return f"{name}: failed: {' '.join(str(details).split())}"
        return f"{name}: final test {percent(self.accuracy.get(config))}, {self.remaining_time()} left"

    def show(self, words: str) -> None:
        write_line(words)


class ComparisonBar(ComparisonLines):
    """Shows a bar; only failed runs leave a line on the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.progress = bar()
        self.task = self.progress.add_task("starting", total=None)

    def begin(self, configs: Sequence[Config], kept: int) -> None:
        self.progress.start()
        super().begin(configs, kept)
        self._redraw()

    def update(self, config: Config, event: str, details: Any) -> None:
        super().update(config, event, details)
        if event == "failed":
            self.progress.console.print(self.ending(config, event, details), highlight=False, markup=False)
        self._redraw()

    def end(self) -> None:
        self.progress.stop()

    def show(self, words: str) -> None:
        self.progress.update(self.task, description=words)

    def _redraw(self) -> None:
        words = f"run {min(self.runs, self.kept + self.ended + 1)} of {self.runs}"
        self.progress.update(self.task, completed=self.done, total=self.runs, description=words)
