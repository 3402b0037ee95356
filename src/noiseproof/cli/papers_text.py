"""Tables of the papers, plans and comparisons as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, NamedTuple

from ..papers.cells import BEST, JOINT, Cell, Runs, Table
from ..papers.describe import NOTHING, as_markdown, decimals, escaped, no_runs_message, printed, reasons

if TYPE_CHECKING:
    from ..papers.comparing import Comparison
    from ..papers.plan import Changes, PlannedRun

NARROW = ("cell", "printed", "ours", "seeds", "diff", "in std")
COMPLETE = ("finished", "computed")
"""States of cells with no missing runs."""
MARKS = {"quoted": " ‡", "missing": " x"}
LEGEND = {"quoted": "‡ quoted by the paper, no run", "missing": "x cannot be run here"}
GAP = 3
"""Characters between two columns."""


class Block(NamedTuple):
    """A part of a table that fits on a screen."""

    columns: list[str]
    rows: list[list[str]]


def blocks(table: Table, width: int = 100) -> list[Block]:
    """The printed numbers; a wide table is split, if possible between groups of columns."""
    digits = decimals(table)
    texts = {(c.row, c.column): printed(c, digits) + MARKS.get(c.state, "") for c in table.cells}
    available = width - 2 - min(max(map(len, table.rows)) + GAP, width // 2)
    groups: dict[str, dict[str, int]] = {}
    for column in table.columns:
        words = [*column.split(JOINT), *(text for (_, name), text in texts.items() if name == column)]
        groups.setdefault(column.partition(JOINT)[0], {})[column] = GAP + max(map(len, words))
    parts, used = list[list[str]]([[]]), 0
    for group in groups.values():
        total = sum(group.values())
        for number, (column, size) in enumerate(group.items()):
            if parts[-1] and used + (total if number == 0 else size) > available:
                parts, used = [*parts, []], 0
            parts[-1].append(column)
            used += size
    return [_block(table.rows, columns, texts) for columns in parts]


def _block(rows: list[str], columns: list[str], texts: Mapping[tuple[str, str], str]) -> Block:
    lines = [[row, *(texts.get((row, column), "") for column in columns)] for row in rows]
    return Block(columns, [line for line in lines if any(line[1:])])


def narrow_lines(comparison: Comparison) -> list[list[str]]:
    """Lines of a narrow table: the row above the column, our number above its state unless complete."""
    from ..papers import render

    return [
        [f"{row}\n{column}", shown, _with_state(ours, state), seeds, *numbers]
        for row, column, shown, ours, seeds, *numbers, state in render.lines(comparison)
    ]


def _with_state(ours: str, state: str) -> str:
    if ours == NOTHING:
        return state
    return ours if state in COMPLETE else f"{ours}\n{state.partition(',')[0]}"


def counted(comparison: Comparison) -> str:
    """Number of cells by state, such as "8 cells not run, 4 quoted"."""
    (first, number), *others = Counter(entry.state for entry in comparison.entries).most_common()
    words = [
        f"{number} cell{'s' if number > 1 else ''} {first}",
        *(f"{many} {state}" for state, many in others),
    ]
    return ", ".join(words)


CELLS = ("row", "column", "printed", "ours will be")


def plan_to_markdown(table: Table, changes: Changes | None = None) -> str:
    """Cells with their printed numbers, then runs with their hashes.

    Raises:
        ValueError: if no cell of the table can be run.
    """
    from ..papers.plan import Changes, plan

    changes = changes or Changes()
    planned = plan(table, changes)
    runnable = [cell for cell in table.cells if isinstance(cell.filling, Runs)]
    if not planned:
        raise ValueError(no_runs_message(table))
    changed = f" Changed from the paper: {changes.words()}." if changes.words() else ""
    common, differences = _settings(table, changes, planned)
    digits = decimals(table)
    cells = [[cell.row, cell.column, printed(cell, digits), _ours(cell)] for cell in runnable]
    parts = [
        f"## {escaped(f'{table.name}: {table.title}')}",
        f"{_count(runnable, 'cell')}, {_count(planned, 'run')}.{changed}",
        as_markdown([CELLS, *cells]),
        "All runs: " + ", ".join(f"{name} `{value}`" for name, value in common.items()) + ".",
        as_markdown(differences),
        "\n".join(f"- {escaped(words)}" for words in reasons(table)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _ours(cell: Cell) -> str:
    """The number of a cell, such as ``best of seeds 0-4, final, minus clean labels``."""
    filling = cell.filling
    if not isinstance(filling, Runs):
        return cell.state
    seeds = filling.seeds
    which = f"seeds {seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"
    picked = "best" if filling.pick == BEST else "mean"
    words = [f"{picked} of {which}", cell.unit.number or "none"]
    words += ["minus clean labels"] if filling.baseline else []
    words += ["after retraining on predicted labels"] if filling.relabel else []
    return ", ".join(words)


def _settings(
    table: Table, changes: Changes, planned: Mapping[str, PlannedRun]
) -> tuple[dict[str, Any], list[list[str]]]:
    """The settings common to all runs, and one row per run with the settings that differ."""
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
