"""``noiseproof papers plan``, ``run`` and ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .compare import Jobs
from .data_check import check_data
from .papers_printing import print_grid

if TYPE_CHECKING:
    from ..papers.comparing import Comparison

HOME = Path("runs/papers")
Name = Annotated[str, typer.Argument(help="A table such as gr.table3; 'noiseproof papers ls' names them.")]
Rows = Annotated[list[str] | None, typer.Option(help="Only these rows: a name, a part of it, or 'MAE*'.")]
Columns = Annotated[list[str] | None, typer.Option(help="Only these columns, such as 'symmetric 0.4'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Seeds = Annotated[int | None, typer.Option(min=1, max=10_000, help="Runs per cell.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Shorten the recipe to so many epochs.")]
Precision = Annotated[str | None, typer.Option(help="fp32 or bf16.")]
Out = Annotated[Path, typer.Option(help="Folder of the runs; tables share the runs they have in common.")]
Engine = Annotated[str, typer.Option(help="local, or ray: the cluster that is there, or one here.")]
Md = Annotated[Path | None, typer.Option(help="Also write the comparison as Markdown.")]
Html = Annotated[Path | None, typer.Option(help="Also write the comparison as one HTML file.")]


def plan(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    precision: Precision = None,
) -> None:
    """Print, as Markdown, the cells that would be filled and the runs that fill them; nothing is run."""
    from ..papers.plan import Changes
    from ..papers.plan_words import to_markdown
    from ..papers.tables import get

    table = get(name).select(rows or (), columns or (), seeds)
    typer.echo(to_markdown(table, Changes(epochs, precision)))


def run(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    precision: Precision = None,
    out: Out = HOME,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    jobs: Jobs = None,
    engine: Engine = "local",
    md: Md = None,
    html: Html = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train the runs of a table, or of a part of it, and compare.

    Finished runs are kept and interrupted ones go on, so the command can be given again, also with more rows
    or seeds.
    """
    from ..papers.plan import Changes, plan, with_folder
    from ..papers.running import run as run_table
    from ..papers.tables import get
    from .progress_of_many import watch_many

    table = get(name).select(rows or (), columns or (), seeds)
    changes, watcher = Changes(epochs, precision), watch_many(quiet)
    if engine == "local":  # a cluster may have the data where this machine has not
        planned = [one for one in plan(table, changes).values() if one.relabel_of is None]
        check_data(with_folder(one, out.expanduser()) for one in planned)
    found = run_table(
        table, out=out, changes=changes, device=device, jobs=jobs, engine=engine, watcher=watcher
    )
    finish(found, md, html, as_json)
    if found.problems:
        for problem in found.problems:
            typer.echo(f"noiseproof: {' '.join(problem.split())}", err=True)
        typer.echo("noiseproof: the same command tries the failed runs again", err=True)
        raise typer.Exit(1)


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
    from ..papers.comparing import compare as compare_table
    from ..papers.tables import get

    finish(compare_table(get(name).select(rows or (), columns or ()), out=out), md, html, as_json)


def finish(found: Comparison, md: Path | None, html: Path | None, as_json: bool) -> None:
    """Write what is wanted, and print."""
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
    busy, idle = found.parts()
    print_grid(outcome.NARROW, outcome.narrow_lines(busy if busy.entries else found), range(1, 6))
    if busy.entries and idle.entries:
        typer.echo(f"and {outcome.counted(idle)} ('noiseproof papers show {found.table.name}' prints all)")
    typer.echo(outcome.EXPLAINED)
