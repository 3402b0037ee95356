"""A table as text and as plain values: printed numbers, notes, and why cells have no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import Cell, Computed, Filling, Missing, Quoted, Table

NOTHING, MARK = "-", " *"


def decimals(table: Table) -> Mapping[str, int]:
    """The largest number of decimals of each metric in a table, in numbers and deviations."""
    found: dict[str, int] = {}
    for cell in table.cells:
        for value in (cell.printed, cell.std):
            if isinstance(value, (int, float)):
                digits = len(f"{value:.6f}".rstrip("0").partition(".")[2])
                found[cell.metric] = max(digits, found.get(cell.metric, 0))
    return found


def plus_minus(value: float | str | None, std: float | None, digits: int) -> str:
    """
    >>> plus_minus(81.1, 0.07, 2), plus_minus(50000.0, None, 0), plus_minus(None, None, 1)
    ('81.10 ± 0.07', '50000', '-')
    """
    if value is None or isinstance(value, str):
        return value or NOTHING
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def printed(cell: Cell, digits: Mapping[str, int]) -> str:
    """The number as printed in the paper, with a mark if there is a note on it."""
    return plus_minus(cell.printed, cell.std, digits.get(cell.metric, 0)) + (MARK if cell.note else "")


def cell_notes(table: Table) -> list[str]:
    """Each note on printed numbers once, with the rows it applies to."""
    rows: dict[str, dict[str, None]] = {}
    for cell in table.cells:
        if cell.note:
            rows.setdefault(cell.note, {})[cell.row] = None
    return [f"{MARK.strip()} {', '.join(names)}: {note}" for note, names in rows.items()]


def signed(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:+.{digits}f}"


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is the heading.

    Example:
        >>> print(as_markdown([["a", "b"], ["1", "x|y"]]))
        | a | b |
        |---|---|
        | 1 | x\\|y |
    """
    text = ["| " + " | ".join(escaped(part).replace("|", "\\|") for part in row) + " |" for row in rows]
    return "\n".join([text[0], "|" + "---|" * len(rows[0]), *text[1:]])


def escaped(text: str) -> str:
    """The text in one line, escaped so that a name or message cannot add HTML or Markdown."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for sign in "\\`*_":
        plain = plain.replace(sign, "\\" + sign)
    return plain


def reasons(table: Table) -> list[str]:
    """The reasons why cells have no run, each after the rows it applies to."""
    found: dict[str, list[str]] = {}
    for cell in table.cells:
        if isinstance(cell.filling, (Quoted, Missing)):
            rows = found.setdefault(_reason(cell.filling), [])
            rows += [] if cell.row in rows else [cell.row]
    return [f"{', '.join(rows)}: {words}" for words, rows in found.items()]


def no_runs_message(table: Table) -> str:
    """The error message for a table without a cell that can be run."""
    found = sorted({_reason(cell.filling) for cell in table.cells})
    return f"{table.name} has no cell that can be run: {'; '.join(found)}"


def _reason(filling: Filling) -> str:
    if isinstance(filling, Quoted):
        return f"quoted from {filling.source}" + (
            f"; not in the library: {filling.why}" if filling.why else ""
        )
    if isinstance(filling, Computed):
        return "computed without a run, see 'noiseproof papers compare'"
    return str(next(iter(vars(filling).values())))


def table_to_dict(table: Table) -> dict[str, Any]:
    """The table as plain values, for JSON."""
    return {
        "table": table.name,
        "title": table.title,
        "notes": list(table.notes),
        "cells": [_cell_values(cell) for cell in table.cells],
    }


def _cell_values(cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {"row": cell.row, "column": cell.column, "metric": cell.metric}
    found |= {"printed": cell.printed, "std": cell.std, "state": cell.state, "note": cell.note}
    return found | {name: value for name, value in vars(cell.filling).items() if value not in (None, False)}
