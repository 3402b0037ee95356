"""``noiseproof papers plan``, ``run`` and ``compare``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from .compare import Jobs
from .data_check import check_data
from .flags import Engine, Quiet
from .papers_comparison import print_found, write_file
from .paths import check_writable, parse_folder
from .screen import print_error, print_text

HOME = Path("runs/papers")
Name = Annotated[str, typer.Argument(help="A table such as gr.table3; 'noiseproof papers ls' lists them.")]
Rows = Annotated[
    list[str] | None,
    typer.Option(
        help="Only these rows: a name, one of the parts of a name that are separated by dots (·),"
        " or a pattern for either such as 'MAE*'."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="Only these columns, selected like rows: 'symmetric 0.4' is a part of 'symmetric 0.4 · snr'."
    ),
]
ReadingName = Annotated[
    str | None,
    typer.Option(
        "--reading",
        help="Another interpretation of the recipe, such as printed (gr), batch (imae), unit (curriculum).",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Seeds = Annotated[int | None, typer.Option(min=1, max=10_000, help="Runs per cell.")]
Epochs = Annotated[int | None, typer.Option(min=1, help="Shorten the recipe to this many epochs.")]
Samples = Annotated[
    int | None, typer.Option(min=2, help="Number of training, validation and test samples, for a trial.")
]
Precision = Annotated[str | None, typer.Option(help="fp32 or bf16.")]
Out = Annotated[
    Path,
    typer.Option(
        parser=parse_folder,
        metavar="<path>",
        help="Folder of the runs; tables share common runs.",
    ),
]
Md = Annotated[Path | None, typer.Option(help="Also write the comparison as Markdown.")]


def table_name(name: str, reading: str | None) -> str:
    """The name of a table in a reading of its recipe."""
    return name if reading is None else f"{name}:{reading}"


def plan(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    samples: Samples = None,
    precision: Precision = None,
    reading: ReadingName = None,
) -> None:
    """Print, as Markdown, the cells that can be reproduced and their runs, without training them."""
    from ..papers.plan import Changes
    from ..papers.tables import get
    from .papers_text import plan_to_markdown as to_markdown

    table = get(table_name(name, reading)).select(rows or (), columns or (), seeds)
    print_text(to_markdown(table, Changes(epochs, precision, samples)))


def run(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    samples: Samples = None,
    root: Annotated[
        Path | None, typer.Option(help="Folder of datasets and weights, in place of $NOISEPROOF_DATA.")
    ] = None,
    precision: Precision = None,
    reading: ReadingName = None,
    out: Out = HOME,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    jobs: Jobs = None,
    engine: Engine = "local",
    md: Md = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train the runs of a table, or of a part of it, and compare.

    Finished runs are reused and interrupted runs resumed, so the command can be repeated, also with more rows
    or seeds. --samples 300 --epochs 1 is a quick trial of all runs.
    """
    from ..papers.plan import Changes, plan, with_folder
    from ..papers.running import run as run_table
    from ..papers.tables import get
    from .comparison_progress import comparison_watcher

    table = get(table_name(name, reading)).select(rows or (), columns or (), seeds)
    check_writable(md)
    if root is not None:
        os.environ["NOISEPROOF_DATA"] = str(root.expanduser().absolute())
    changes, watcher = Changes(epochs, precision, samples), comparison_watcher(quiet)
    if engine == "local":  # on a cluster the data may exist only on the workers
        planned = [one for one in plan(table, changes).values() if one.relabel_of is None]
        check_data(with_folder(one, out.expanduser()) for one in planned)
    found = run_table(
        table, out=out, changes=changes, device=device, jobs=jobs, engine=engine, watcher=watcher
    )
    print_found(found, as_json)
    if found.problems:
        print_error("repeat the command to retry the failed runs")
    write_file(found, md)
    if found.problems:
        raise typer.Exit(1)


def compare(
    name: Name,
    rows: Rows = None,
    columns: Columns = None,
    reading: ReadingName = None,
    out: Out = HOME,
    md: Md = None,
    as_json: AsJson = False,
) -> None:
    """Print the numbers of finished runs next to the printed ones."""
    from ..papers.comparing import compare as compare_table
    from ..papers.plan import RUNS
    from ..papers.tables import get

    table = get(table_name(name, reading)).select(rows or (), columns or ())
    if table.counts["runs"] and not (out.expanduser() / RUNS).is_dir():
        raise FileNotFoundError(
            f"there are no runs in {out}: give the folder of your runs with --out, or train them with"
            f" 'noiseproof papers run {name} --out {out}'"
        )
    check_writable(md)
    found = compare_table(table, out=out)
    print_found(found, as_json)
    write_file(found, md)
