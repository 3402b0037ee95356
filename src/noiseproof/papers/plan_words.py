"""A plan in Markdown: which cells will be filled, by which runs, said before anything is run."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any

from .description import nothing_to_run
from .filling import BEST, Runs
from .metrics import METRICS
from .outcome import as_markdown, escaped
from .plan import Changes, Planned, plan
from .table import Cell, Table
from .wording import decimals, printed

CELLS = ("row", "column", "printed", "ours will be")


def to_markdown(table: Table, changes: Changes = Changes()) -> str:
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
    ]
    return "\n\n".join(parts) + "\n"


def _ours(cell: Cell) -> str:
    """Such as ``best of seeds 0-4, final, less that of clean labels``."""
    filling = cell.filling
    if not isinstance(filling, Runs):
        return cell.state
    seeds = filling.seeds
    which = f"seeds {seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    picked = "best" if filling.pick == BEST else "mean"
    words = [f"{picked} of {which}", METRICS[cell.metric].reading or "none"]
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
