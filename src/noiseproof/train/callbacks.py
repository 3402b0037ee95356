"""Callbacks that receive the progress of a run."""

from __future__ import annotations

from typing import Any


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
