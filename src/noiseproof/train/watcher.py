"""Who wants to be told how a run gets on."""

from __future__ import annotations

from typing import Any


class Watcher:
    """Does nothing; subclasses show progress bars or write to other places."""

    def begin(self, done: int, steps: int) -> None:
        """Training starts after ``done`` of ``steps`` steps."""

    def step(self, done: int) -> None:
        """So many steps are done."""

    def epoch(self, line: dict[str, Any]) -> None:
        """An epoch has ended with these metrics."""

    def end(self) -> None:
        """The run is finished."""
