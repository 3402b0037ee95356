"""Ours beside printed: the difference in the unit of the paper and in standard deviations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..dynamics.run_folder import CONFIG, RunFolder
from .filling import BEST, STATES, Computed, Runs
from .manifest import Manifest
from .metrics import METRICS
from .plan import BASELINE, OWN, RELABELLED
from .readings import READINGS
from .table import Cell, Table
from .tables import get


@dataclass(frozen=True)
class Entry:
    """A cell with our number: mean and deviation over seeds, or the best of them."""

    cell: Cell
    ours: float | None = None
    std: float | None = None
    finished: int = 0
    wanted: int = 0
    problems: tuple[str, ...] = ()

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
        """What is there: "finished", "2 of 3", "failed", "not run", or why there is no run."""
        if not isinstance(self.cell.filling, Runs):
            return STATES[self.cell.state]
        if self.problems:
            return f"{len(self.problems)} failed" + (f", {self.finished} finished" if self.finished else "")
        if self.finished == self.wanted:
            return "finished" if self.wanted else "not run"
        return f"{self.finished} of {self.wanted}"

    @property
    def is_idle(self) -> bool:
        """Nothing has been run for it, or could be."""
        return self.ours is None and not self.finished and not self.problems


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


def compare(table: str | Table, *, out: str | Path) -> Comparison:
    """The printed numbers of a table beside those of the runs in a folder."""
    whole, manifest = get(table), Manifest(out)
    entries = tuple(_entry(whole.name, cell, manifest) for cell in whole.cells)
    changes = manifest.tables.get(whole.name)
    return Comparison(whole, entries, changes.words() if changes else "")


def _entry(table: str, cell: Cell, manifest: Manifest) -> Entry:
    if isinstance(cell.filling, Computed):
        return Entry(cell, computed(cell.filling))
    if not isinstance(cell.filling, Runs):
        return Entry(cell)
    runs: dict[str, list[dict[str, Any]]] = {}
    for role, run in manifest.of_cell(table, cell.row, cell.column):
        runs.setdefault(role, []).append(run)
    mine = RELABELLED if cell.filling.relabel else OWN
    needed = [run for role in (mine, BASELINE) for run in runs.get(role, [])]
    groups = {role: [done for run in found if (done := _done(manifest, run))] for role, found in runs.items()}
    finished = sum(len(groups.get(role, [])) for role in (mine, BASELINE))
    problems = tuple(f"{Path(run['folder']).name}: {run['problem']}" for run in needed if "problem" in run)
    ours, std = summary(cell, groups.get(mine, []), groups.get(BASELINE, []))
    return Entry(cell, ours, std, finished, len(needed), problems)


def _done(manifest: Manifest, run: dict[str, Any]) -> RunFolder | None:
    folder = manifest.folder / run["folder"]
    found = RunFolder(folder) if (folder / CONFIG).is_file() else None
    return found if found is not None and found.finished else None


def summary(
    cell: Cell, runs: Sequence[RunFolder], baseline: Sequence[RunFolder] = ()
) -> tuple[float | None, float | None]:
    """Our number of a cell and the deviation over seeds, in the unit of the paper.

    The best run is the one with the highest final test accuracy, whatever number is read from it.
    """
    filling, metric = cell.filling, METRICS[cell.metric]
    if not isinstance(filling, Runs) or metric.reading is None or (filling.baseline and not baseline):
        return None, None
    mine = _number(runs, metric.reading, filling.pick)
    theirs = _number(baseline, metric.reading, filling.pick) if filling.baseline else (0.0, None)
    if mine[0] is None or theirs[0] is None:
        return None, None
    known = [std for std in (mine[1], theirs[1]) if std is not None]
    return metric.factor * (mine[0] - theirs[0]), metric.factor * math.hypot(*known) if known else None


def _number(runs: Sequence[RunFolder], reading: str, pick: str) -> tuple[float | None, float | None]:
    found = [
        (READINGS["final"](run) or 0.0, value)
        for run in runs
        if (value := READINGS[reading](run)) is not None
    ]
    if not found:
        return None, None
    values = [value for _, value in found]
    std = statistics.stdev(values) if len(values) > 1 else None
    return max(found)[1] if pick == BEST else statistics.fmean(values), std


def computed(filling: Computed) -> float:
    """A number that needs no training."""
    from ..losses import curve, expected_margin

    if filling.what == "spread":
        return float(curve(filling.of).spread)
    return abs(float(expected_margin(int(filling.of))))
