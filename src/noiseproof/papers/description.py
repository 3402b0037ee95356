"""What a table is: printed numbers, the runs behind them, notes; as plain values and in blocks to print."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from .filling import Runs
from .table import JOINT, Cell, Table
from .wording import decimals, printed

MARKS = {"quoted": " ‡", "missing": " x"}
LEGEND = {"quoted": "‡ quoted by the paper, no run", "missing": "x cannot be run here"}
WIDEST = 8
"""Columns of one block."""


class Block(NamedTuple):
    """A part of a table that fits on a screen."""

    columns: list[str]
    rows: list[list[str]]


def blocks(table: Table) -> list[Block]:
    """The printed numbers; a wide table is cut where the first part of its columns' names changes."""
    groups: dict[str, list[str]] = {}
    for column in table.columns:
        groups.setdefault(column.partition(JOINT)[0], []).append(column)
    parts: list[list[str]] = []
    for columns in groups.values():
        if parts and len(parts[-1]) + len(columns) <= WIDEST:
            parts[-1] += columns
        else:
            parts.append(columns)
    return [_block(table, columns) for columns in parts]


def _block(table: Table, columns: list[str]) -> Block:
    digits = decimals(table)
    found = {
        (cell.row, cell.column): printed(cell, digits) + MARKS.get(cell.state, "") for cell in table.cells
    }
    rows = [[row, *(found.get((row, column), "") for column in columns)] for row in table.rows]
    return Block(columns, [row for row in rows if any(row[1:])])


class Variant(NamedTuple):
    """Runs that differ in their seeds alone."""

    settings: dict[str, Any]
    seeds: int
    cells: int


def runs_of(table: Table) -> tuple[dict[str, Any], list[Variant]]:
    """The settings all runs of a table have in common, and what sets them apart."""
    groups: dict[str, Variant] = {}
    for settings, seeds in _all_runs(table.cells):
        key = json.dumps(settings, sort_keys=True)
        before = groups.get(key, Variant(settings, seeds, 0))
        groups[key] = Variant(settings, max(seeds, before.seeds), before.cells + 1)
    every = [variant.settings for variant in groups.values()]
    names = {name for settings in every for name in settings}
    varying = {name for name in names if any(one.get(name) != every[0].get(name) for one in every)}
    common = {name: value for name, value in (every[0] if every else {}).items() if name not in varying}
    apart = [
        Variant({n: v for n, v in one.settings.items() if n in varying}, one.seeds, one.cells)
        for one in groups.values()
    ]
    return common, apart


def _all_runs(cells: Iterable[Cell]) -> Iterable[tuple[dict[str, Any], int]]:
    for cell in cells:
        if isinstance(cell.filling, Runs):
            yield dict(cell.filling.settings), len(cell.filling.seeds)


def reasons(table: Table) -> dict[str, list[str]]:
    """Why cells have no run, and the rows it is said of."""
    found: dict[str, list[str]] = {}
    for cell in table.cells:
        if cell.state in MARKS:
            words = next(iter(vars(cell.filling).values()))
            rows = found.setdefault(f"quoted from {words}" if cell.state == "quoted" else words, [])
            rows += [] if cell.row in rows else [cell.row]
    return found


def to_dict(table: Table) -> dict[str, Any]:
    """All of it, as plain values."""
    return {
        "table": table.name,
        "title": table.title,
        "notes": list(table.notes),
        "cells": [_plain(cell) for cell in table.cells],
    }


def _plain(cell: Cell) -> dict[str, Any]:
    told: dict[str, Any] = {
        "row": cell.row,
        "column": cell.column,
        "metric": cell.metric,
        "printed": cell.printed,
    }
    told |= {"std": cell.std, "state": cell.state, "note": cell.note}
    return told | {name: value for name, value in vars(cell.filling).items() if value not in (None, False)}
