"""Callbacks that receive the progress of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .config import Config

MIN_SECONDS = 0.5
"""Shortest time between two updates of the line in a notebook."""


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
    """Shows the metrics of the last epoch in one line, as below the cell of a notebook."""

    def __init__(self, config: Config, show: Callable[[str], None]) -> None:
        self.config, self.show, self._text, self._last_shown = config, show, "", 0.0

    def epoch(self, line: dict[str, Any]) -> None:
        self._text = epoch_words(self.config, line)
        if time.monotonic() - self._last_shown >= MIN_SECONDS:
            self.show(self._text)
            self._last_shown = time.monotonic()

    def end(self) -> None:
        self.show(self._text)


def notebook_line() -> Callable[[str], None]:
    """A function that shows a text below the cell of a notebook; outside notebooks it does nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return lambda text: None
    from IPython.display import display  # type: ignore[import-not-found]

    place = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: place.update({"text/plain": text}, raw=True)  # type: ignore[no-any-return]


def epoch_words(config: Config, line: dict[str, Any]) -> str:
    """The metrics of an epoch as text, such as ``epoch 7/100: test 91.2%, training 83.0%``."""
    total = "" if config.epochs is None or config.is_default_length else f"/{config.epochs}"
    names = {"test": "test", "validation": "validation", "training": "corrupted"}
    found = {shown: line.get(f"{name}_accuracy") for shown, name in names.items()}
    parts = [f"{shown} {100 * share:.1f}%" for shown, share in found.items() if share is not None]
    return f"epoch {line['epoch']}{total}: {', '.join(parts)}"
