"""A comparison as lines of text, Markdown and plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .entry import Comparison, Entry
from .filling import BEST, Runs
from .metrics import METRICS
from .wording import NOTHING, cell_notes, decimals, plus_minus, printed, signed

HEADINGS = ("row", "column", "printed", "ours", "seeds", "diff", "in std", "state")
NARROW = ("cell", *HEADINGS[2:-1])
WHOLE = ("finished", "computed")
"""States in which nothing is wanting."""
EXPLAINED = (
    "diff: ours less printed, in points for percentages; in std: the same over the root of both variances,"
    " one that is not known taken as 0"
)


def lines(comparison: Comparison) -> list[list[str]]:
    """A line for every cell, by ``HEADINGS``; ours with a decimal more than printed."""
    digits = decimals(comparison.table)
    return [_line(entry, digits.get(entry.cell.metric, 0), digits) for entry in comparison.entries]


def narrow_lines(comparison: Comparison) -> list[list[str]]:
    """The same for a screen: row above column, our number above its state, if that is not "finished"."""
    return [
        [f"{row}\n{column}", shown, _with_state(ours, state), seeds, *numbers]
        for row, column, shown, ours, seeds, *numbers, state in lines(comparison)
    ]


def _with_state(ours: str, state: str) -> str:
    if ours == NOTHING:
        return state
    return ours if state in WHOLE else f"{ours}\n{state.partition(',')[0]}"


def counted(comparison: Comparison) -> str:
    """How many cells there are, by their state: "8 cells not run, 4 quoted"."""
    (first, number), *others = Counter(entry.state for entry in comparison.entries).most_common()
    words = [
        f"{number} cell{'s' if number > 1 else ''} {first}",
        *(f"{many} {state}" for state, many in others),
    ]
    return ", ".join(words)


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
    """Name, title and what is not as in the paper."""
    changed = f" (not as in the paper: {comparison.changes})" if comparison.changes else ""
    return f"{comparison.table.name}: {comparison.table.title}{changed}"


def to_markdown(comparison: Comparison) -> str:
    """A table with a heading, notes and failures below it."""
    table = as_markdown([HEADINGS, *lines(comparison)])
    below = [f"- {escaped(note)}" for note in [*cell_notes(comparison.table), *comparison.table.notes]]
    below += [f"- failed: {escaped(problem)}" for problem in comparison.problems]
    parts = [f"## {escaped(heading(comparison))}", table, EXPLAINED + ".", "\n".join(below)]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the heading.

    Example:
        >>> print(as_markdown([["a", "b"], ["1", "x|y"]]))
        | a | b |
        |---|---|
        | 1 | x\\|y |
    """
    text = ["| " + " | ".join(escaped(part).replace("|", "\\|") for part in row) + " |" for row in rows]
    return "\n".join([text[0], "|" + "---|" * len(rows[0]), *text[1:]])


def escaped(text: str) -> str:
    """No markup and no line end of ours can come from a name or a message."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in "\\`*_":
        plain = plain.replace(sign, "\\" + sign)
    return plain


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Plain values; None where nothing can be said."""
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
        "comparable": METRICS[cell.metric].comparable,
        "printed": cell.printed,
        "printed_std": cell.std,
        "note": cell.note,
        "ours": entry.ours,
        "ours_std": entry.std,
        "difference": entry.difference,
        "deviations": entry.deviations,
        "pick": cell.filling.pick if isinstance(cell.filling, Runs) else None,
        "seeds": [run.seed for run in entry.runs],
        "runs": [run.folder for run in entry.runs],
        "baseline_runs": [run.folder for run in entry.baseline],
        "finished": entry.finished,
        "wanted": entry.wanted,
        "state": entry.state,
        "problems": list(entry.problems),
    }
