"""Our numbers and the printed ones: differences in the unit of the paper and in standard deviations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .cells import BEST, STATES, Cell, Computed, Runs, Table
from .plan import BASELINE, FIRST, OWN, RELABELLED, Changes
from .results import CellResults, Result, Results, read_folder
from .tables import get


@dataclass(frozen=True)
class Entry:
    """A cell with our number (mean over seeds, or best seed) and its standard deviation."""

    cell: Cell
    ours: float | None = None
    std: float | None = None
    runs: tuple[Result, ...] = ()
    baseline: tuple[Result, ...] = ()
    """Finished runs whose number is subtracted."""
    wanted: int = 0
    """Number of runs the cell needs: as many as the paper has, or more if more were requested."""
    problems: tuple[str, ...] = ()

    @property
    def finished(self) -> int:
        """Number of finished runs of the cell, without baselines."""
        return len(self.runs)

    @property
    def difference(self) -> float | None:
        """Our number minus the printed one, in the unit of the paper; None if they are not comparable."""
        if self.ours is None or isinstance(self.cell.printed, str) or not self.cell.unit.comparable:
            return None
        return self.ours - self.cell.printed

    @property
    def deviations(self) -> float | None:
        """The difference divided by sqrt(std² + printed std²); an unknown standard deviation counts as 0."""
        scale = math.hypot(self.std or 0.0, self.cell.std or 0.0)
        return self.difference / scale if self.difference is not None and scale else None

    @property
    def state(self) -> str:
        """The state of the cell: "finished", "2 of 3", "1 failed", "not run", or why there is no run."""
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
    def is_empty(self) -> bool:
        """Whether we have neither a number nor a run for the cell."""
        return self.ours is None and not self.runs and not self.baseline and not self.problems


@dataclass(frozen=True)
class Comparison:
    """A table with our numbers beside the printed ones."""

    table: Table
    entries: tuple[Entry, ...]
    short: Mapping[tuple[str, str], Changes] = field(default_factory=dict)
    """How the runs of cells were shortened, by row and column."""

    @property
    def changes(self) -> str:
        """How runs differ from those of the paper."""
        return "; ".join(sorted({variant.words() for variant in self.short.values()}))

    @property
    def problems(self) -> list[str]:
        return sorted({problem for entry in self.entries for problem in entry.problems})

    def parts(self) -> tuple[Comparison, Comparison]:
        """The comparison of the cells with a run or a number of ours, and that of the others."""
        filled = tuple(entry for entry in self.entries if not entry.is_empty)
        empty = tuple(entry for entry in self.entries if entry.is_empty)
        return replace(self, entries=filled), replace(self, entries=empty)


def compare(
    table: str | Table,
    *,
    out: str | Path,
    problems: Mapping[str, str] | None = None,
    changes: Changes = Changes(),
) -> Comparison:
    """Compare the printed numbers of a table with those of the runs in a folder.

    All seeds in the folder are used, also if the paper has fewer.

    Args:
        problems: the error message of each failed run, by its key.
        changes: how the failed runs differ from those of the paper.
    """
    results, variants = read_folder(out)
    results |= {key: Result(key, 0, problem=words) for key, words in (problems or {}).items()}
    seeds = len({one.seed for one in results.values() if one.numbers})
    whole = get(table).with_runs(lambda runs: runs.with_seeds(max(seeds, len(runs.seeds))))
    return compare_with(whole, results, variants | {changes})


def compare_with(table: Table, results: Results, variants: Iterable[Changes] = ()) -> Comparison:
    """Compare the printed numbers of a table with results (by the hash of the config of their run)."""
    runs_of = CellResults(table, results, variants)
    return Comparison(table, tuple(_entry(cell, runs_of(cell)) for cell in table.cells), runs_of.short)


def _entry(cell: Cell, runs: Mapping[str, Sequence[Result]]) -> Entry:
    if isinstance(cell.filling, Computed):
        return Entry(cell, computed(cell.filling))
    if not isinstance(cell.filling, Runs):
        return Entry(cell)
    mine = own_role(cell)
    needed = [run for role in (mine, FIRST, BASELINE) for run in runs.get(role, [])]
    problems = {run.name: run.problem for run in needed if run.problem is not None}
    own, baseline = (tuple(run for run in runs.get(role, []) if run.numbers) for role in (mine, BASELINE))
    return Entry(
        cell,
        *_summary(cell, own, baseline),
        runs=own,
        baseline=baseline,
        wanted=max(cell.filling.paper_seeds, len(runs.get(mine, []))),
        problems=tuple(f"{name}: {problem}" for name, problem in problems.items()),
    )


def own_role(cell: Cell) -> str:
    """The role of the runs whose number fills a cell."""
    return RELABELLED if isinstance(cell.filling, Runs) and cell.filling.relabel else OWN


def _summary(
    cell: Cell, runs: Sequence[Result], baseline: Sequence[Result]
) -> tuple[float | None, float | None]:
    """Our number for a cell and its standard deviation over seeds, in the unit of the paper."""
    filling, metric = cell.filling, cell.unit
    if not isinstance(filling, Runs) or metric.number is None or (filling.baseline and not baseline):
        return None, None
    mine = _number(runs, metric.number, filling.pick)
    theirs = _number(baseline, metric.number, filling.pick) if filling.baseline else (0.0, None)
    if mine[0] is None or theirs[0] is None:
        return None, None
    known = [std for std in (mine[1], theirs[1]) if std is not None]
    return metric.factor * (mine[0] - theirs[0]), metric.factor * math.hypot(*known) if known else None


def _number(runs: Sequence[Result], name: str, pick: str) -> tuple[float | None, float | None]:
    """The mean, or the number of the best run by final test accuracy, and the standard deviation."""
    numbers = [run.numbers for run in runs if run.numbers is not None]
    found = [(one["final"] or 0.0, value) for one in numbers if (value := one[name]) is not None]
    if not found:
        return None, None
    values = [value for _, value in found]
    std = statistics.stdev(values) if len(values) > 1 else None
    return max(found)[1] if pick == BEST else statistics.fmean(values), std


def computed(filling: Computed) -> float:
    """The number of a cell that needs no training."""
    from ..losses import curve, expected_margin

    if filling.what == "spread":
        return float(curve(filling.of).spread)
    return abs(float(expected_margin(int(filling.of))))
