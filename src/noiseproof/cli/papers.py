"""``noiseproof papers``: tables and figures of the papers, the runs behind them, ours beside printed."""

from __future__ import annotations

import json
from collections import Counter

import typer

from .papers_all import claim, queue, report, tally
from .papers_figure import figure
from .papers_printing import print_blocks, print_grid, print_notes, screen_width, told
from .papers_run import AsJson, Columns, Name, ReadingName, Rows, compare, plan, read_as, run
from .screen import tell

app = typer.Typer(
    name="papers",
    help="Tables and figures of five papers: show, run, compare and draw them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
LIST = ("table", "cells", "runs", "quoted", "lack", "other", "shows")
LEGEND = """runs: cells that can be run; quoted: others' numbers, nothing to run; lack: the library has not
the data or method; other: formulas, hyper-parameters and what needs no training"""
SHORTEST = 12
"""Signs of a title that are shown at least."""


@app.command("ls")
def list_tables(as_json: AsJson = False) -> None:
    """Name the tables, and how many of their cells can be run."""
    from ..papers.tables import PRINTED, TABLES

    found = [{"table": name, "title": table.title, **table.counts} for name, table in TABLES.items()]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    total = Counter[str]()
    for table in PRINTED.values():
        total.update(table.counts)
    rows = [[name, str(len(table.cells)), *told(table.counts), table.title] for name, table in TABLES.items()]
    rows.append(["all printed", str(total.total()), *told(total), ""])
    taken = sum(3 + max(len(row[k]) for row in (LIST, *rows)) for k in range(len(LIST) - 1))
    print_grid(LIST, [[*row[:-1], _cut(row[-1], screen_width() - taken - 4)] for row in rows], range(1, 6))
    tell(LEGEND)


@app.command()
def show(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    reading: ReadingName = None,
    as_json: AsJson = False,
) -> None:
    """Print the numbers of a table and notes; 'noiseproof papers plan' names the runs behind them."""
    from ..papers.describe import table_to_dict as to_dict
    from ..papers.tables import get

    table = get(read_as(name, reading)).select(rows or (), columns or ())
    if as_json:
        typer.echo(json.dumps(to_dict(table), indent=2, ensure_ascii=False))
        return
    tell(f"{table.name}: {table.title}")
    print_blocks(table)
    print_notes(table)


def _cut(title: str, room: int) -> str:
    """
    >>> _cut("Losses and their weights", 18)
    'Losses and their …'
    """
    room = max(room, SHORTEST)
    return title if len(title) <= room else title[: room - 1] + "…"


app.command()(plan)
app.command()(run)
app.command()(compare)
app.command()(figure)
app.command()(queue)
app.command()(tally)
app.command()(claim)
app.command()(report)
