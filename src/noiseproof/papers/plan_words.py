"""A plan in Markdown: which cells will be filled, by which runs, said before anything is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .description import runs_of
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
        raise ValueError(f"{table.name} has no cell that can be run")
    changed = f" Not as in the paper: {changes.words()}." if changes.words() else ""
    common, _ = runs_of(table)
    digits = decimals(table)
    cells = [[cell.row, cell.column, printed(cell, digits), _ours(cell)] for cell in runnable]
    parts = [
        f"## {escaped(f'{table.name}: {table.title}')}",
        f"{len(runnable)} cells, {len(planned)} runs.{changed}",
        as_markdown([CELLS, *cells]),
        "All runs: " + ", ".join(f"{name} `{value}`" for name, value in common.items()) + ".",
        as_markdown(_runs(planned, common)),
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


def _runs(planned: Mapping[str, Planned], common: Mapping[str, Any]) -> list[Sequence[str]]:
    default = next(iter(planned.values())).config.to_dict()
    settings = [one.config.to_dict() for one in planned.values()]
    varying = [
        name for name in default if name not in common and len({str(one[name]) for one in settings}) > 1
    ]
    rows = [[key, *(str(one[name]) for name in varying)] for key, one in zip(planned, settings, strict=True)]
    return [["run", *varying], *rows]
