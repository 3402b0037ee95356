"""Counts over the cells of all tables: how many can be run, were run and agree with the printed number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import spearmanr  # type: ignore[import-untyped]

from .cells import Runs
from .comparing import Comparison, Entry, compare_with
from .describe import as_markdown, escaped, reasons
from .plan import Changes
from .queue import distance_from_ce
from .render import HEADINGS, lines
from .results import Results
from .tables import OTHER_READINGS, PRINTED

POINTS, DEVIATIONS, SHARE = 2.0, 2.0, 0.1
"""Largest distance of agreeing numbers: in points, in printed deviations, for snr as a share."""
FAR = 5.0
"""A printed number counts as far from that of cross entropy if it differs by more points than this."""


class Tried(NamedTuple):
    """What was tried for cells that do not agree; ``row`` and ``column`` are patterns."""

    table: str
    row: str
    column: str
    words: str


class Tally(NamedTuple):
    """Counts over the cells of some tables."""

    runnable: int = 0
    run: int = 0
    short: int = 0
    """Cells of which only shortened runs exist; they are not compared."""
    agree: int = 0
    far: int = 0
    """Cells that were run and whose printed number is far from that of cross entropy."""
    far_agree: int = 0


def total(tallies: Iterable[Tally]) -> Tally:
    return Tally(*map(sum, zip(Tally(), *tallies, strict=True)))


def agrees(entry: Entry) -> bool | None:
    """Whether our number agrees with the printed one; None if it is missing or not comparable."""
    difference, cell = entry.difference, entry.cell
    if difference is None or isinstance(cell.printed, str):
        return None
    near = SHARE * abs(cell.printed) if cell.metric == "snr" else POINTS * cell.unit.factor / 100.0
    return abs(difference) <= max(near, DEVIATIONS * (cell.std or 0.0))


def compared(results: Results, variants: Iterable[Changes], *, readings: bool = False) -> list[Comparison]:
    """Compare every table with runnable cells with the results; with ``readings`` also other readings."""
    tables = [*PRINTED.values(), *(OTHER_READINGS.values() if readings else ())]
    return [compare_with(table, results, variants) for table in tables if table.counts["runs"]]


def tally(comparison: Comparison) -> Tally:
    return total(
        _count(comparison, entry) for entry in comparison.entries if isinstance(entry.cell.filling, Runs)
    )


def _count(comparison: Comparison, entry: Entry) -> Tally:
    is_short = entry.ours is not None and entry.cell.place in comparison.short
    agreement = None if is_short else agrees(entry)
    gap = distance_from_ce(comparison.table, entry.cell)
    far = agreement is not None and gap is not None and abs(gap) > FAR
    return Tally(1, entry.ours is not None, is_short, bool(agreement), far, far and bool(agreement))


def rank_correlation(comparison: Comparison) -> float | None:
    """Spearman's correlation of printed and our numbers, the mean over columns with four rows or more."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for entry in comparison.entries:
        ours, printed = entry.ours, entry.cell.printed
        if ours is not None and not isinstance(printed, str) and entry.cell.place not in comparison.short:
            columns.setdefault(entry.cell.column, []).append((printed, ours))
    pairs = [list(zip(*column, strict=True)) for column in columns.values() if len(column) >= 4]
    known = [float(spearmanr(*two).statistic) for two in pairs if all(len(set(one)) > 1 for one in two)]
    return sum(known) / len(known) if known else None


def read_tried(path: Path | None) -> list[Tried]:
    """Read a CSV file with the columns table, row, column, tried."""
    if path is None:
        return []
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return [Tried(row["table"], row["row"], row["column"], row["tried"]) for row in rows]


def to_markdown(found: Sequence[Comparison], tried: Sequence[Tried] = ()) -> str:
    """The page: counts, then a table of cells for each table."""
    rows = [_summary_row(one.table.name, tally(one), rank_correlation(one)) for one in found]
    rows.append(_summary_row("all", total(map(tally, found)), None))
    counts = ("cells", "run", "shortened", "agree", "print far from CE", "agree", "rank correlation")
    parts = [
        "# Every cell that can be run",
        "This page has every cell of the papers' tables that the library can run, printed and ours. A"
        f" cell agrees if it is within {POINTS:g} points of the printed number, or {DEVIATIONS:g}"
        " printed deviations (snr: a tenth of the printed number). Far from CE: it differs from the"
        f" printed number of cross entropy in the same column by more than {FAR:g} points. Rank"
        " correlation: Spearman's, of printed and our numbers of a column, mean over columns with four"
        " rows or more. Shortened: all its runs have fewer epochs than in the paper; such cells are not"
        " compared. `noiseproof papers tally` writes this page.",
        as_markdown([("table", *counts), *rows]),
        *(_section(one, tried) for one in found),
    ]
    return "\n\n".join(parts) + "\n"


def _summary_row(name: str, counts: Tally, correlation: float | None) -> list[str]:
    return [name, *map(str, counts), "" if correlation is None else f"{correlation:.2f}"]


def _section(found: Comparison, tried: Sequence[Tried]) -> str:
    rows = [
        [*line[:-1], _state(entry, found.short.get(entry.cell.place)), _tried(found.table.name, entry, tried)]
        for entry, line in zip(found.entries, lines(found), strict=True)
        if isinstance(entry.cell.filling, Runs)
    ]
    table = as_markdown([(*HEADINGS, "tried"), *rows])
    notes = "\n".join(f"- {escaped(words)}" for words in reasons(found.table))
    return f"## {found.table.name}: {found.table.title}\n\n{table}\n\n{notes}".rstrip()


def _state(entry: Entry, shortened: Changes | None) -> str:
    verdict = {None: "", True: "agrees", False: "misses"}[None if shortened else agrees(entry)]
    words = [verdict, entry.state, f"cut to {shortened.words()}" if shortened else ""]
    return ", ".join(word for word in words if word)


def _tried(table: str, entry: Entry, tried: Sequence[Tried]) -> str:
    cell, missed = entry.cell, agrees(entry) is False
    return "; ".join(
        one.words
        for one in tried
        if missed
        and one.table == table
        and fnmatchcase(cell.row, one.row)
        and fnmatchcase(cell.column, one.column)
    )


def to_dict(found: Sequence[Comparison]) -> dict[str, Any]:
    """Counts of every table, as plain values."""
    tables = {
        one.table.name: {**tally(one)._asdict(), "rank_correlation": rank_correlation(one)} for one in found
    }
    return {"tables": tables, "all": total(map(tally, found))._asdict()}
