"""Print tables of ``noiseproof papers``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .screen import cell, console, print_text

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from ..papers.cells import Table


def screen_width() -> int:
    return console().width


def print_grid(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: range = range(0)) -> None:
    """Print a table; the columns ``numbers`` are right-aligned and not wrapped."""
    from rich.table import Table as Grid

    grid = Grid()
    for number, name in enumerate(headings):
        justify: JustifyMethod = "right" if number in numbers else "left"
        grid.add_column(cell(name), justify=justify, overflow="fold", no_wrap=number in numbers)
    for row in rows:
        grid.add_row(*map(cell, row))
    console().print(grid)


def count_texts(counts: Mapping[str, int]) -> list[str]:
    """Numbers of cells as text: runnable, quoted, missing, and without training; "" for 0."""
    numbers = [counts["runs"], counts["quoted"], counts["missing"], counts["computed"] + counts["stated"]]
    return [str(number or "") for number in numbers]


def print_blocks(table: Table) -> None:
    """Print the numbers of the paper."""
    from ..papers.cells import JOINT
    from .papers_text import blocks

    for block in blocks(table, screen_width()):
        headings = ["", *(column.replace(JOINT, "\n") for column in block.columns)]
        print_grid(headings, block.rows, range(1, len(headings)))


def print_notes(table: Table) -> None:
    from ..papers.describe import cell_notes, reasons
    from .papers_text import LEGEND

    states = {cell.state for cell in table.cells}
    notes = [words for state, words in LEGEND.items() if state in states]
    notes += reasons(table)
    for note in [*notes, *cell_notes(table), *table.notes]:
        print_text(f"- {note}")
