"""``noiseproof compare``: several losses over several seeds, in one table."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .data_check import check_data
from .flags import Engine, Quiet
from .names import choices
from .paths import make_writable, parse_folder, refuse_run
from .screen import cell, console, print_error, print_text
from .settings import read_config, with_settings

if TYPE_CHECKING:
    from ..train import Comparison, Config

Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Runs at the same time; by default one per core, on a GPU up to 8."),
]

LOSS_HELP = f"A loss, such as 'gce(q=0.7)'; give it several times: {choices('loss')}."
METHOD_HELP = f"A method, such as 'elr(beta=0.7)'; give it several times: {choices('method')}."
CAPTIONS = {
    "final %": "final, best: test accuracy after the last epoch, and its maximum over epochs",
    "gain": "gain: final, relative to the first row",
    "memorised": "memorised: % of the wrong labels predicted",
}
"""Explanation of a column, by its heading."""
NO_TEST = (
    "no accuracy: there is no test data; name it with --test, or give a path with {split}, which becomes"
    " train and test"
)


@with_settings("loss", "method", "seed", "out")
def compare(
    loss: Annotated[list[str] | None, typer.Option(help=LOSS_HELP)] = None,
    method: Annotated[list[str] | None, typer.Option(help=METHOD_HELP)] = None,
    seeds: Annotated[str, typer.Option(help="How many seeds, or which: 5, or '0,3,7'.")] = "5",
    out: Annotated[
        Path | None,
        typer.Option(
            parser=parse_folder,
            metavar="<path>",
            help="Folder of the table and the runs; by default one under runs/.",
        ),
    ] = None,
    jobs: Jobs = None,
    engine: Engine = "local",
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    settings: Any = None,
) -> None:
    """Train several losses or methods, each with several seeds, and compare them in one table.

    Finished runs are reused and interrupted runs resumed, so the command can be repeated, also with more
    losses or seeds. Gains are relative to the first loss.
    """
    numbers = read_seeds(seeds)
    config = read_config(settings)
    from ..train import grid
    from ..train.comparison.table import comparison_folder

    folder = comparison_folder(config) if out is None else out.expanduser()
    configs = grid(config, losses=loss or (), methods=method or (), seeds=numbers, out=folder)
    found = run_all(configs, folder, jobs, quiet, engine)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        print_comparison(found, folder, title(config))
    report_failures(found)


def read_seeds(words: str) -> list[int]:
    """
    >>> read_seeds("3"), read_seeds("0,3,7"), read_seeds("7,")
    ([0, 1, 2], [0, 3, 7], [7])
    """
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"--seeds {words!r}: give a number of seeds such as 5, or seeds such as '0,3,7'")
    numbers = [int(part) for part in parts]
    if "," in words:
        return numbers
    if not 1 <= numbers[0] <= 10_000:
        raise ValueError(f"--seeds {words}: between 1 and 10000 seeds are possible")
    return list(range(numbers[0]))


def run_all(
    configs: list[Config], folder: Path, jobs: int | None, quiet: bool = False, engine: str = "local"
) -> Comparison:
    """Train with progress, and write the table into the folder of the runs."""
    from ..engines import check_engine
    from ..train import compare as compare_runs
    from .comparison_progress import comparison_watcher

    check_engine(engine)
    refuse_run(folder)
    ignored = () if engine == "local" else (FileNotFoundError,)
    with suppress(*ignored):  # the machines of a cluster may have data that this one does not
        check_data(configs)
    make_writable(folder)
    found = compare_runs(configs, jobs=jobs, watcher=comparison_watcher(quiet), engine=engine)
    found.write(folder)
    return found


def title(config: Config) -> str:
    length = f"{config.iterations} steps" if config.epochs is None else f"{config.epochs} epochs"
    length = "" if config.is_default_length else length
    return ", ".join(part for part in (config.data, config.noise, config.model, length) if part)


def print_comparison(found: Comparison, folder: Path, heading: str) -> None:
    """Print the table and the folder of the files."""
    from rich.table import Table

    counts = {len(row.seeds) for row in found.rows}
    if len(counts) == 1:
        number = counts.pop()
        heading += f", {number} seed{'' if number == 1 else 's'}"
    names = [name for name in found.headings if name != "seeds" or counts]
    table = Table()
    for name in names:
        table.add_column(name, justify="left" if name == "run" else "right", overflow="fold")
    for cells in found.cells():
        table.add_row(*(cell(cells[name]) for name in names))
    screen = console()
    screen.print(f"[italic]{cell(heading)}[/italic]")
    screen.print(table)
    captions = [words for name, words in CAPTIONS.items() if name in names]
    if any(row.seeds for row in found.rows) and "final %" not in names:
        captions.append(NO_TEST)
    print_text("\n".join(captions))
    print_text(f"table.md, table.csv, table.json and all runs are in {folder}")


def report_failures(found: Comparison) -> None:
    """Print the failed runs, grouped by error message; exit with code 1 if there are any."""
    problems: dict[str, list[str]] = {}
    for outcome in found.failed:
        name = f"{outcome.config.method or outcome.config.loss}, seed {outcome.config.seed}"
        problems.setdefault(" ".join((outcome.problem or "").split()), []).append(name)
    for problem, names in problems.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        print_error(f"{names[0]}{more} failed: {problem}")
    if found.failed:
        print_error("repeat the command to retry the failed runs")
        raise typer.Exit(1)
