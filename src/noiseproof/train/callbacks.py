"""Callbacks that receive the progress of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .config import Config

SECONDS = 0.5
"""Between two lines in a notebook."""


class Watcher:
    """Base class whose methods do nothing; subclasses show progress or write metrics elsewhere."""

    def begin(self, done: int, steps: int) -> None:
        """Called when training starts, after ``done`` of ``steps`` steps."""

    def step(self, done: int) -> None:
        """Called after each step with the number of finished steps."""

    def epoch(self, line: dict[str, Any]) -> None:
        """Called after each epoch with its metrics."""

    def end(self) -> None:
        """Called when the run is finished."""


class Line(Watcher):
    """Shows the metrics of the last epoch in one line, such as that of a notebook."""

    def __init__(self, config: Config, show: Callable[[str], None]) -> None:
        self.config, self.show, self._words, self._shown = config, show, "", 0.0

    def epoch(self, line: dict[str, Any]) -> None:
        self._words = epoch_words(self.config, line)
        if time.monotonic() - self._shown >= SECONDS:
            self.show(self._words)
            self._shown = time.monotonic()

    def end(self) -> None:
        self.show(self._words)


def notebook_line() -> Callable[[str], None]:
    """Shows words below the cell of a notebook, each time in place of the last ones; elsewhere nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return lambda words: None
    from IPython.display import display  # type: ignore[import-not-found]

    place = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda words: place.update({"text/plain": words}, raw=True)  # type: ignore[no-any-return]


def epoch_words(config: Config, line: dict[str, Any]) -> str:
    """Such as ``epoch 7/100: test 91.2%, training 83.0%``."""
    total = "" if config.epochs is None or config.is_default_length else f"/{config.epochs}"
    names = {"test": "test", "validation": "validation", "training": "corrupted"}
    found = {word: line.get(f"{name}_accuracy") for word, name in names.items()}
    parts = [f"{word} {100 * share:.1f}%" for word, share in found.items() if share is not None]
    return f"epoch {line['epoch']}{total}: {', '.join(parts)}"
