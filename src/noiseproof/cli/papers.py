"""``noiseproof papers``: tables of the papers, the runs behind them, ours beside printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .compare import Jobs

if TYPE_CHECKING:
    from rich.console import JustifyMethod, OverflowMethod

    from ..papers.compare import Comparison
    from ..papers.table import Table

app = typer.Typer(
    name="papers",
    help="Tables of five papers: show, run and compare them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
HOME = Path("runs/papers")
LIST = ("table", "cells", "runnable", "quoted", "not runnable", "other")
Name = Annotated[str, typer.Argument(help="A table such as gr.table3; 'noiseproof papers ls' names them.")]
Rows = Annotated[list[str] | None, typer.Option(help="Only these rows: a name, a part of it, or 'MAE*'.")]
Columns = Annotated[list[str] | None, typer.Option(help="Only these columns, such as 'symmetric 0.4'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Out = Annotated[Path, typer.Option(help="Folder of the runs; tables share the runs they have in common.")]
Md = Annotated[Path | None, typer.Option(help="Also write the comparison as Markdown.")]
Html = Annotated[Path | None, typer.Option(help="Also write the comparison as one HTML file.")]


@app.command("ls")
def list_tables(as_json: AsJson = False) -> None:
    """Name the tables, and how many of their cells can be run."""
    from ..papers.tables import TABLES

    found = [{"table": name, "title": table.title, **table.counts} for name, table in TABLES.items()]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    total = Counter[str]()
    for table in TABLES.values():
        total.update(table.counts)
    rows = [
        [name, str(len(table.cells)), *_told(table.counts), table.title] for name, table in TABLES.items()
    ]
    rows.append(["all", str(total.total()), *_told(total), ""])
    _print([*LIST, "shows"], rows, range(1, len(LIST)), overflow="ellipsis")


@app.command()
def show(name: Name, rows: Rows = None, columns: Columns = None, as_json: AsJson = False) -> None:
    """Print the numbers of a table, the runs behind them, and notes."""
    from ..papers import description
    from ..papers.table import JOINT
    from ..papers.tables import get

    table = get(name).select(rows or (), columns or ())
    if as_json:
        typer.echo(json.dumps(description.to_dict(table), indent=2, ensure_ascii=False))
        return
    typer.echo(f"{table.name}: {table.title}")
    for block in description.blocks(table):
        headings = ["", *(column.replace(JOINT, "\n") for column in block.columns)]
        _print(headings, block.rows, range(1, len(headings)))
    _print_runs(table)
    _print_notes(table)


@app.command()
def run(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=10_000, help="Runs per cell.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Shorten the recipe to so many epochs.")] = None,
    precision: Annotated[str | None, typer.Option(help="fp32 or bf16.")] = None,
    out: Out = HOME,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    jobs: Jobs = None,
    md: Md = None,
    html: Html = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train the runs of a table, or of a part of it, and compare.

    Finished runs are kept and interrupted ones go on, so the command can be given again, also with more rows
    or seeds.
    """
    from ..papers.plan import Changes
    from ..papers.run import run as run_table
    from ..papers.tables import get
    from .progress_of_many import watch_many

    table = get(name).select(rows or (), columns or (), seeds)
    changes = Changes(epochs, precision)
    watcher = watch_many(quiet)
    found = run_table(table, out=out, changes=changes, device=device, jobs=jobs, watcher=watcher)
    _finish(found, md, html, as_json)
    if found.problems:
        for problem in found.problems:
            typer.echo(f"noiseproof: {' '.join(problem.split())}", err=True)
        typer.echo("noiseproof: the same command tries the failed runs again", err=True)
        raise typer.Exit(1)


@app.command()
def compare(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    out: Out = HOME,
    md: Md = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Set our numbers beside the printed ones, as far as runs are finished."""
    from ..papers.compare import compare as compare_table
    from ..papers.tables import get

    found = compare_table(get(name).select(rows or (), columns or ()), out=out)
    _finish(found, md, html, as_json)


def _finish(found: Comparison, md: Path | None, html: Path | None, as_json: bool) -> None:
    from ..atomic import write_text
    from ..papers import outcome
    from ..papers.outcome_page import page

    if md is not None:
        write_text(md, outcome.to_markdown(found))
    if html is not None:
        write_text(html, page(found))
    if as_json:
        typer.echo(json.dumps(outcome.to_dict(found), indent=2, ensure_ascii=False))
        return
    typer.echo(outcome.heading(found))
    _print(outcome.HEADINGS, outcome.lines(found), range(2, 7))
    typer.echo(outcome.EXPLAINED)


def _print_runs(table: Table) -> None:
    from ..papers.description import runs_of

    common, variants = runs_of(table)
    if not variants:
        return
    typer.echo(
        "runs: " + (", ".join(f"{name}={value}" for name, value in common.items()) or "nothing in common")
    )
    names = list(dict.fromkeys(name for variant in variants for name in variant.settings))
    rows = [
        [*(str(variant.settings.get(name, "")) for name in names), str(variant.seeds), str(variant.cells)]
        for variant in variants
    ]
    _print([*names, "seeds", "cells"], rows, range(len(names), len(names) + 2))


def _print_notes(table: Table) -> None:
    from ..papers.description import LEGEND, reasons

    states = {cell.state for cell in table.cells}
    notes = [words for state, words in LEGEND.items() if state in states]
    notes += [f"{', '.join(rows)}: {words}" for words, rows in reasons(table).items()]
    notes += dict.fromkeys(f"{cell.row}: {cell.note}" for cell in table.cells if cell.note)
    for note in [*notes, *table.notes]:
        typer.echo(f"- {note}")


def _told(counts: Mapping[str, int]) -> list[str]:
    """Runnable, quoted, not runnable, and what there is nothing to run for."""
    numbers = [counts["runs"], counts["quoted"], counts["missing"], counts["computed"] + counts["stated"]]
    return [str(number or "") for number in numbers]


def _print(
    headings: Sequence[str], rows: list[list[str]], numbers: range, overflow: OverflowMethod = "fold"
) -> None:
    """Columns with these numbers to the right; with an ellipsis every row is one line."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid()
    for number, name in enumerate(headings):
        justify: JustifyMethod = "right" if number in numbers else "left"
        grid.add_column(escape(name), justify=justify, overflow=overflow, no_wrap=overflow == "ellipsis")
    for row in rows:
        grid.add_row(*map(escape, row))
    Console(emoji=False, highlight=False).print(grid)
