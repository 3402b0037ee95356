"""Ours beside printed: the difference in the unit of the paper and in standard deviations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..dynamics.run_folder import CONFIG, RESULT, RunFolder
from .entry import Comparison, Done, Entry
from .filling import BEST, Computed, Runs
from .manifest import Manifest
from .metrics import METRICS
from .plan import BASELINE, FIRST, OWN, RELABELLED
from .readings import READINGS
from .table import Cell, Table
from .tables import get


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
    runs = _runs_by_role(table, cell, manifest)
    mine = RELABELLED if cell.filling.relabel else OWN
    needed = [run for role in (mine, FIRST, BASELINE) for run in runs.get(role, [])]
    problems = {run.name: run.problem for run in needed if run.problem is not None}
    groups = {role: [run for run in found if run.done is not None] for role, found in runs.items()}
    own, baseline = groups.get(mine, []), groups.get(BASELINE, [])
    ours, std = summary(cell, _folders(own), _folders(baseline))
    return Entry(
        cell,
        ours,
        std,
        runs=tuple(Done(run.name, run.seed) for run in own),
        baseline=tuple(Done(run.name, run.seed) for run in baseline),
        wanted=max(cell.filling.paper_seeds, len(runs.get(mine, []))),
        problems=tuple(f"{name}: {problem}" for name, problem in problems.items()),
    )


class _Found(NamedTuple):
    """A run of the manifest: finished, failed, or neither."""

    name: str
    seed: int
    done: RunFolder | None
    problem: str | None


def _runs_by_role(table: str, cell: Cell, manifest: Manifest) -> dict[str, list[_Found]]:
    found: dict[str, list[_Found]] = {}
    for role, run in manifest.of_cell(table, cell.row, cell.column):
        folder = manifest.folder / run["folder"]
        done, problem = None, run.get("problem")
        if (folder / CONFIG).is_file() and (folder / RESULT).is_file():
            problem = _damage(RunFolder(folder), METRICS[cell.metric].reading)
            done = RunFolder(folder) if problem is None else None
        found.setdefault(role, []).append(_Found(folder.name, int(run["config"]["seed"]), done, problem))
    return found


def _folders(runs: Sequence[_Found]) -> list[RunFolder]:
    return [run.done for run in runs if run.done is not None]


def _damage(run: RunFolder, reading: str | None) -> str | None:
    """Why the number of a finished run cannot be read, and what to do."""
    if run.damage or reading is None:
        return run.damage
    try:
        float(READINGS[reading](run) or 0.0)
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        return f"cannot read {reading!r} of {run.folder}: {problem!r}; remove the folder to train it again"
    return None


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
