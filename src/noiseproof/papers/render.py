"""A comparison, and the plan of a table's runs, as lines of text, Markdown and plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sized
from typing import Any

from .cells import BEST, Cell, Runs, Table
from .comparing import Comparison, Entry
from .describe import (
    NOTHING,
    as_markdown,
    cell_notes,
    decimals,
    escaped,
    nothing_to_run,
    plus_minus,
    printed,
    reasons,
    signed,
)
from .plan import Changes, Planned, plan

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
    """A table with a heading above it, notes and failures below."""
    table = as_markdown([HEADINGS, *lines(comparison)])
    below = [f"- {escaped(note)}" for note in [*cell_notes(comparison.table), *comparison.table.notes]]
    below += [f"- failed: {escaped(problem)}" for problem in comparison.problems]
    parts = [f"## {escaped(heading(comparison))}", table, EXPLAINED + ".", "\n".join(below)]
    return "\n\n".join(part for part in parts if part) + "\n"


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


CELLS = ("row", "column", "printed", "ours will be")


def plan_to_markdown(table: Table, changes: Changes = Changes()) -> str:
    """Cells with their printed number, then runs with their hash.

    Raises:
        ValueError: if no cell of the table can be run.
    """
    planned = plan(table, changes)
    runnable = [cell for cell in table.cells if isinstance(cell.filling, Runs)]
    if not planned:
        raise ValueError(nothing_to_run(table))
    changed = f" Not as in the paper: {changes.words()}." if changes.words() else ""
    common, apart = _settings(table, changes, planned)
    digits = decimals(table)
    cells = [[cell.row, cell.column, printed(cell, digits), _ours(cell)] for cell in runnable]
    parts = [
        f"## {escaped(f'{table.name}: {table.title}')}",
        f"{_count(runnable, 'cell')}, {_count(planned, 'run')}.{changed}",
        as_markdown([CELLS, *cells]),
        "All runs: " + ", ".join(f"{name} `{value}`" for name, value in common.items()) + ".",
        as_markdown(apart),
        "\n".join(f"- {escaped(words)}" for words in reasons(table)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _ours(cell: Cell) -> str:
    """Such as ``best of seeds 0-4, final, less that of clean labels``."""
    filling = cell.filling
    if not isinstance(filling, Runs):
        return cell.state
    seeds = filling.seeds
    which = f"seeds {seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    picked = "best" if filling.pick == BEST else "mean"
    words = [f"{picked} of {which}", cell.unit.number or "none"]
    words += ["less that of clean labels"] if filling.baseline else []
    words += ["after training again on predicted labels"] if filling.relabel else []
    return ", ".join(words)


def _settings(
    table: Table, changes: Changes, planned: Mapping[str, Planned]
) -> tuple[dict[str, Any], list[list[str]]]:
    """What all runs have in common, and a row for each with what sets it apart."""
    fillings = [cell.filling for cell in table.cells if isinstance(cell.filling, Runs)]
    named = {name for filling in fillings for name in changes.apply(filling.settings)}
    found = {key: run.config.to_dict() for key, run in planned.items()}
    first = next(iter(found.values()))
    varying = [name for name in first if any(one[name] != first[name] for one in found.values())]
    common = {name: first[name] for name in first if name in named and name not in varying}
    rows = [[key, *(str(one[name]) for name in varying)] for key, one in found.items()]
    return common, [["run", *varying], *rows]


def _count(things: Sized, word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"
