"""A comparison as rows of text, as Markdown and as plain values."""

from __future__ import annotations

from typing import Any

from .cells import BEST, Runs
from .comparing import Comparison, Entry
from .describe import as_markdown, cell_notes, decimals, escaped, plus_minus, printed, signed

HEADINGS = ("row", "column", "printed", "ours", "seeds", "diff", "in std", "state")
EXPLAINED = (
    "diff: ours minus printed, in points for percentages; in std: diff divided by the root of the sum of both"
    " variances, where an unknown variance counts as 0"
)


def lines(comparison: Comparison) -> list[list[str]]:
    """A row for every cell, with the columns ``HEADINGS``; ours has one decimal more than printed."""
    digits = decimals(comparison.table)
    return [_line(entry, digits.get(entry.cell.metric, 0), digits) for entry in comparison.entries]


def _line(entry: Entry, digits: int, all_digits: Any) -> list[str]:
    filling = entry.cell.filling
    fine = min(digits + 1, 6)
    seeds = f"best of {entry.finished}" if getattr(filling, "pick", "") == BEST else str(entry.finished)
    return [
        entry.cell.row,
        entry.cell.column,
        printed(entry.cell, all_digits),
        plus_minus(entry.ours, entry.std, fine),
        seeds if entry.finished else "",
        signed(entry.difference, fine),
        signed(entry.deviations, 1),
        entry.state,
    ]


def heading(comparison: Comparison) -> str:
    """Name and title of the table, and what differs from the paper."""
    changed = f" (changed from the paper: {comparison.changes})" if comparison.changes else ""
    return f"{comparison.table.name}: {comparison.table.title}{changed}"


def to_markdown(comparison: Comparison) -> str:
    """A Markdown table with a heading above, and notes and failures below."""
    table = as_markdown([HEADINGS, *lines(comparison)])
    below = [f"- {escaped(note)}" for note in [*cell_notes(comparison.table), *comparison.table.notes]]
    below += [f"- failed: {escaped(problem)}" for problem in comparison.problems]
    parts = [f"## {escaped(heading(comparison))}", table, EXPLAINED + ".", "\n".join(below)]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Plain values; None for unknown ones."""
    return {
        "table": comparison.table.name,
        "title": comparison.table.title,
        "changes": comparison.changes,
        "notes": list(comparison.table.notes),
        "cells": [_plain(entry) for entry in comparison.entries],
    }


def _plain(entry: Entry) -> dict[str, Any]:
    cell = entry.cell
    return {
        "row": cell.row,
        "column": cell.column,
        "metric": cell.metric,
        "comparable": cell.unit.comparable,
        "printed": cell.printed,
        "printed_std": cell.std,
        "note": cell.note,
        "ours": entry.ours,
        "ours_std": entry.std,
        "difference": entry.difference,
        "deviations": entry.deviations,
        "pick": cell.filling.pick if isinstance(cell.filling, Runs) else None,
        "seeds": [run.seed for run in entry.runs],
        "runs": [run.name for run in entry.runs],
        "baseline_runs": [run.name for run in entry.baseline],
        "finished": entry.finished,
        "wanted": entry.wanted,
        "state": entry.state,
        "problems": list(entry.problems),
    }
