"""Every cell of every table: printed, ours, how far apart, and how many agree."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata  # type: ignore[import-untyped]

from .cells import METRICS, Runs, Table
from .comparing import Comparison, Entry, compare_with
from .describe import as_markdown
from .queue import distance_from_ce
from .render import HEADINGS, lines
from .results import OfCells, Results
from .tables import OTHER_READINGS, PRINTED

POINTS, DEVIATIONS, SHARE = 2.0, 2.0, 0.1
"""Agreement: so many points, or so many printed deviations; for ratios such as snr a share of the print."""
FAR = 5.0
"""A print further than so many points from that of cross entropy counts as far from it."""


class Tried(NamedTuple):
    """What was tried about cells that miss their print; row and column are patterns."""

    table: str
    row: str
    column: str
    words: str


class Compared(NamedTuple):
    """A table beside results, and the cells whose runs were cut short, by row and column."""

    comparison: Comparison
    short: Mapping[tuple[str, str], int]

    @property
    def table(self) -> Table:
        return self.comparison.table

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.comparison.entries


@dataclass(frozen=True)
class Tally:
    """Counts over the cells of some tables."""

    runnable: int = 0
    run: int = 0
    agree: int = 0
    far: int = 0
    """Cells that were run and whose print is far from cross entropy's."""
    far_agree: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(self.values(), other.values(), strict=True)))

    def values(self) -> tuple[int, int, int, int, int]:
        return self.runnable, self.run, self.agree, self.far, self.far_agree

    def to_dict(self) -> dict[str, int]:
        return dict(zip(("runnable", "run", "agree", "far", "far_agree"), self.values(), strict=True))


def agrees(entry: Entry) -> bool | None:
    """Whether our number is that of the paper; None where there is none, or units differ."""
    difference, cell = entry.difference, entry.cell
    if difference is None or isinstance(cell.printed, str):
        return None
    metric = METRICS[cell.metric]
    near = SHARE * abs(cell.printed) if cell.metric == "snr" else POINTS * metric.factor / 100.0
    return abs(difference) <= max(near, DEVIATIONS * (cell.std or 0.0))


def compared(results: Results, epochs: Iterable[int], *, readings: bool = False) -> list[Compared]:
    """Every table with runnable cells beside the results; with ``readings`` also in other readings."""
    known = list(epochs)
    tables = [*PRINTED.values(), *(OTHER_READINGS.values() if readings else ())]
    found = []
    for table in tables:
        if table.counts["runs"]:
            source = OfCells(table, results, known)
            found.append(Compared(compare_with(table, source), source.short))
    return found


def tally(comparison: Comparison | Compared) -> Tally:
    total = Tally()
    for entry in comparison.entries:
        if isinstance(entry.cell.filling, Runs):
            verdict = agrees(entry)
            gap = distance_from_ce(comparison.table, entry.cell)
            far = verdict is not None and gap is not None and abs(gap) > FAR
            run, right = entry.ours is not None, bool(verdict)
            total += Tally(1, int(run), int(right), int(far), int(far and right))
    return total


def rank_correlation(comparison: Comparison | Compared) -> float | None:
    """Spearman's correlation of printed and our numbers, the mean over columns with four rows or more."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for entry in comparison.entries:
        if entry.ours is not None and not isinstance(entry.cell.printed, str):
            columns.setdefault(entry.cell.column, []).append((entry.cell.printed, entry.ours))
    found = [_spearman(pairs) for pairs in columns.values() if len(pairs) >= 4]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known else None


def _spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    ranks = [rankdata(values) for values in zip(*pairs, strict=True)]
    if any(len(set(values)) == 1 for values in ranks):
        return None
    return float(np.corrcoef(ranks)[0, 1])


def read_tried(path: Path | None) -> list[Tried]:
    """Lines of a CSV file with the columns table, row, column, tried."""
    if path is None:
        return []
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return [Tried(row["table"], row["row"], row["column"], row["tried"]) for row in rows]


def to_markdown(found: Sequence[Compared], tried: Sequence[Tried] = ()) -> str:
    """The page: counts, then a table of cells for each table."""
    rows = [_summary_row(one.table.name, tally(one), rank_correlation(one)) for one in found]
    total = sum((tally(one) for one in found), Tally())
    rows.append(_summary_row("all", total, None))
    headings = ("table", "cells", "run", "agree", "print far from CE", "agree", "rank correlation")
    parts = [
        "# Every cell that can be run",
        f"Written by `noiseproof papers tally`. A cell agrees if it is within {POINTS:g} points of the print,"
        f" or {DEVIATIONS:g} printed deviations (snr: a tenth of the print). Far from CE: the print differs"
        f" from that of cross entropy in the same column by more than {FAR:g} points. Rank correlation:"
        " Spearman's, of printed and our numbers of a column, the mean over columns with four rows or more.",
        as_markdown([headings, *rows]),
        *(_section(one, tried) for one in found),
    ]
    return "\n\n".join(parts) + "\n"


def _summary_row(name: str, counts: Tally, correlation: float | None) -> list[str]:
    told = "" if correlation is None else f"{correlation:.2f}"
    return [name, *map(str, counts.values()), told]


def _section(found: Compared, tried: Sequence[Tried]) -> str:
    told = lines(found.comparison)
    rows = [
        [*line[:-1], _state(entry, line[-1], found.short), _tried(found.table, entry, tried)]
        for entry, line in zip(found.entries, told, strict=True)
        if isinstance(entry.cell.filling, Runs)
    ]
    table = as_markdown([(*HEADINGS, "tried"), *rows])
    return f"## {found.table.name}: {found.table.title}\n\n{table}"


def _state(entry: Entry, state: str, short: Mapping[tuple[str, str], int]) -> str:
    verdict = agrees(entry)
    cut = short.get((entry.cell.row, entry.cell.column))
    words = [
        "" if verdict is None else "agrees" if verdict else "misses",
        state,
        f"cut to {cut} epochs" if cut else "",
    ]
    return ", ".join(word for word in words if word)


def _tried(table: Table, entry: Entry, tried: Sequence[Tried]) -> str:
    if agrees(entry) is not False:
        return ""
    cell = entry.cell
    return "; ".join(
        one.words
        for one in tried
        if one.table == table.name and fnmatchcase(cell.row, one.row) and fnmatchcase(cell.column, one.column)
    )


def to_dict(found: Sequence[Compared]) -> dict[str, Any]:
    """Counts of every table, as plain values."""
    tables = {
        one.table.name: {**tally(one).to_dict(), "rank_correlation": rank_correlation(one)} for one in found
    }
    return {"tables": tables, "all": sum((tally(one) for one in found), Tally()).to_dict()}
