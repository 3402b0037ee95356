"""A cell with our number, and a table of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from .filling import STATES, Runs
from .metrics import METRICS
from .table import Cell, Table


class Done(NamedTuple):
    """A finished run."""

    folder: str
    """Its name."""
    seed: int


@dataclass(frozen=True)
class Entry:
    """A cell with our number: mean and deviation over seeds, or the best of them."""

    cell: Cell
    ours: float | None = None
    std: float | None = None
    runs: tuple[Done, ...] = ()
    baseline: tuple[Done, ...] = ()
    """Runs whose number is subtracted."""
    wanted: int = 0
    """Runs of its own: as many as the paper has, or more if more were asked for."""
    problems: tuple[str, ...] = ()

    @property
    def finished(self) -> int:
        """Runs of its own that are finished."""
        return len(self.runs)

    @property
    def difference(self) -> float | None:
        """Ours less printed, in the unit of the paper; None where that says nothing."""
        comparable = METRICS[self.cell.metric].comparable
        if self.ours is None or isinstance(self.cell.printed, str) or not comparable:
            return None
        return self.ours - self.cell.printed

    @property
    def deviations(self) -> float | None:
        """The difference over the root of the sum of both variances; one that is not known counts as 0."""
        scale = math.hypot(self.std or 0.0, self.cell.std or 0.0)
        return self.difference / scale if self.difference is not None and scale else None

    @property
    def state(self) -> str:
        """What is there: "finished", "2 of 3", "1 failed", "not run", or why there is no run."""
        filling = self.cell.filling
        if not isinstance(filling, Runs):
            return STATES[self.cell.state]
        if self.problems:
            return f"{len(self.problems)} failed" + (f", {self.finished} finished" if self.finished else "")
        if not self.runs and not self.baseline:
            return "not run"
        if self.finished < self.wanted:
            return f"{self.finished} of {self.wanted}"
        if filling.baseline is not None and len(self.baseline) < self.wanted:
            return f"baseline {len(self.baseline)} of {self.wanted}"
        return "finished"

    @property
    def is_idle(self) -> bool:
        """Nothing has been run for it, or could be."""
        return self.ours is None and not self.runs and not self.baseline and not self.problems


@dataclass(frozen=True)
class Comparison:
    """A table with our numbers."""

    table: Table
    entries: tuple[Entry, ...]
    changes: str
    """What was not as in the paper."""

    @property
    def problems(self) -> list[str]:
        return sorted({problem for entry in self.entries for problem in entry.problems})

    def parts(self) -> tuple[Comparison, Comparison]:
        """Cells for which something was run or computed, and the others."""
        busy = tuple(entry for entry in self.entries if not entry.is_idle)
        idle = tuple(entry for entry in self.entries if entry.is_idle)
        return replace(self, entries=busy), replace(self, entries=idle)
