"""``noiseproof papers``: tables and figures of the papers, and our numbers next to the printed ones."""

from __future__ import annotations

import json
from collections import Counter

import typer

from .papers_all import claim, queue, report, tally
from .papers_figure import figure
from .papers_print import count_texts, print_blocks, print_grid, print_notes, screen_width
from .papers_run import AsJson, Columns, Name, ReadingName, Rows, compare, plan, run, table_name
from .screen import print_text

app = typer.Typer(
    name="papers",
    help="Show, reproduce, compare and draw the tables and figures of five papers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
HEADINGS = ("table", "cells", "runs", "quoted", "missing", "other", "shows")
LEGEND = """runs: cells that can be run; quoted: numbers taken from other papers; missing: the data or method
is not available; other: formulas, hyper-parameters and cells without training"""
MIN_TITLE_WIDTH = 12
"""Minimum number of title characters that are shown."""


@app.command("ls")
def list_tables(as_json: AsJson = False) -> None:
    """List the tables and how many of their cells can be run."""
    from ..papers.tables import PRINTED, TABLES

    found = [{"table": name, "title": table.title, **table.counts} for name, table in TABLES.items()]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    total = Counter[str]()
    for table in PRINTED.values():
        total.update(table.counts)
    rows = [
        [name, str(len(table.cells)), *count_texts(table.counts), table.title]
        for name, table in TABLES.items()
    ]
    rows.append(["all printed", str(total.total()), *count_texts(total), ""])
    used = sum(3 + max(len(row[k]) for row in (HEADINGS, *rows)) for k in range(len(HEADINGS) - 1))
    rows = [[*row[:-1], _shortened(row[-1], screen_width() - used - 4)] for row in rows]
    print_grid(HEADINGS, rows, range(1, 6))
    print_text(LEGEND)


@app.command()
def show(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    reading: ReadingName = None,
    as_json: AsJson = False,
) -> None:
    """Print the numbers and notes of a table; 'noiseproof papers plan' lists the runs that reproduce it."""
    from ..papers.describe import table_to_dict as to_dict
    from ..papers.tables import get

    table = get(table_name(name, reading)).select(rows or (), columns or ())
    if as_json:
        typer.echo(json.dumps(to_dict(table), indent=2, ensure_ascii=False))
        return
    print_text(f"{table.name}: {table.title}")
    print_blocks(table)
    print_notes(table)


def _shortened(title: str, width: int) -> str:
    """
    >>> _shortened("Losses and their weights", 18)
    'Losses and their …'
    """
    width = max(width, MIN_TITLE_WIDTH)
    return title if len(title) <= width else title[: width - 1] + "…"


app.command()(plan)
app.command()(run)
app.command()(compare)
app.command()(figure)
app.command()(queue)
app.command()(tally)
app.command()(claim)
app.command()(report)
