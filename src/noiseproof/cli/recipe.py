"""``noiseproof recipe``: procedures that consist of several runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Quiet
from .screen import cell, console, print_text
from .settings import read_config, with_settings

if TYPE_CHECKING:
    from ..recipes import Corrected, Relabelled
    from ..train import Config, Run, Watcher

app = typer.Typer(name="recipe", help="Procedures that consist of several runs.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
@with_settings()
def relabel(quiet: Quiet = False, as_json: AsJson = False, settings: Any = None) -> None:
    """Train, replace the labels by the predictions of the network, and train again from scratch."""
    config = read_config(settings)
    from ..recipes import relabel_and_retrain

    found: Relabelled = _watched(config, quiet, relabel_and_retrain)
    facts = {"labels changed": found.changed}
    if found.wrong_before is not None:
        facts |= {"wrong labels before": found.wrong_before, "wrong labels after": found.wrong_after or 0}
    _print(f"relabel and retrain, {config.loss}", found.first, found.second, facts, as_json)


@app.command()
@with_settings("method")
def correct(
    correction: Annotated[str, typer.Option(help="forward, backward, s_adaptation.")] = "forward",
    estimate: Annotated[str, typer.Option(help="anchor97, anchor, confident.")] = "anchor97",
    quiet: Quiet = False,
    as_json: AsJson = False,
    settings: Any = None,
) -> None:
    """Train, estimate the transition matrix of the labels, and train again from scratch with it."""
    config = read_config(settings)
    from ..recipes import estimate_and_correct

    found: Corrected = _watched(config, quiet, estimate_and_correct, correction=correction, estimate=estimate)
    facts = {"share of labels estimated right": round(float(found.transition.diagonal().mean()), 4)}
    _print(f"{correction} with an estimated matrix", found.first, found.second, facts, as_json)


def _watched(config: Config, quiet: bool, recipe: Any, **options: Any) -> Any:
    from .progress import ProgressBar, run_watcher

    watcher: Watcher = run_watcher(config, quiet)
    try:
        return recipe(config, watcher=watcher, **options)
    finally:
        if isinstance(watcher, ProgressBar):
            watcher.close()


def _print(title: str, first: Run, second: Run, facts: dict[str, Any], as_json: bool) -> None:
    from rich.table import Table

    from .progress import percent

    results = {"first": first.result or {}, "second": second.result or {}}
    if as_json:
        folders = {name: str(run.folder) for name, run in (("first", first), ("second", second))}
        typer.echo(json.dumps({**results, "folders": folders, **facts}, indent=2))
        return
    table = Table(title=cell(title), title_justify="left")
    for heading in ("", "first run", "second run"):
        table.add_column(heading)
    for words, name in (("final test accuracy", "final"), ("best test accuracy", "best")):
        table.add_row(words, *(percent(found[f"{name}_test_accuracy"]) for found in results.values()))
    for words, value in facts.items():
        table.add_row(words, "", str(value))
    console().print(table)
    print_text(f"runs: {first.folder} and {second.folder}")
