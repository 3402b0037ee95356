"""``noiseproof recipe``: procedures of several runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Quiet
from .screen import cell, console, tell
from .settings import read_config, with_settings

if TYPE_CHECKING:
    from ..recipes import Corrected, Relabelled
    from ..train import Config, Run, Watcher

app = typer.Typer(name="recipe", help="Procedures of several runs.", no_args_is_help=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
@with_settings()
def relabel(quiet: Quiet = False, as_json: AsJson = False, settings: Any = None) -> None:
    """Train, replace the labels by what the network predicts, train again from scratch."""
    config = read_config(settings)
    from ..recipes import relabel_and_retrain

    found: Relabelled = _watched(config, quiet, relabel_and_retrain)
    told = {"labels changed": found.changed}
    if found.wrong_before is not None:
        told |= {"wrong labels before": found.wrong_before, "wrong labels after": found.wrong_after or 0}
    _print(f"relabel and retrain, {config.loss}", found.first, found.second, told, as_json)


@app.command()
@with_settings("method")
def correct(
    correction: Annotated[str, typer.Option(help="forward, backward, s_adaptation.")] = "forward",
    estimate: Annotated[str, typer.Option(help="anchor97, anchor, confident.")] = "anchor97",
    quiet: Quiet = False,
    as_json: AsJson = False,
    settings: Any = None,
) -> None:
    """Train, estimate how labels go wrong, train again from scratch with that matrix."""
    config = read_config(settings)
    from ..recipes import estimate_and_correct

    found: Corrected = _watched(config, quiet, estimate_and_correct, correction=correction, estimate=estimate)
    told = {"share of labels estimated right": round(float(found.transition.diagonal().mean()), 4)}
    _print(f"{correction} with an estimated matrix", found.first, found.second, told, as_json)


def _watched(config: Config, quiet: bool, recipe: Any, **options: Any) -> Any:
    from .progress import Bar, watch

    watcher: Watcher = watch(config, quiet)
    try:
        return recipe(config, watcher=watcher, **options)
    finally:
        if isinstance(watcher, Bar):
            watcher.close()


def _print(title: str, first: Run, second: Run, told: dict[str, Any], as_json: bool) -> None:
    from rich.table import Table

    from .progress import percent

    results = {"first": first.result or {}, "second": second.result or {}}
    if as_json:
        folders = {name: str(run.folder) for name, run in (("first", first), ("second", second))}
        typer.echo(json.dumps({**results, "folders": folders, **told}, indent=2))
        return
    table = Table(title=cell(title), title_justify="left")
    for heading in ("", "first run", "second run"):
        table.add_column(heading)
    for words, name in (("final test accuracy", "final"), ("best test accuracy", "best")):
        table.add_row(words, *(percent(found[f"{name}_test_accuracy"]) for found in results.values()))
    for words, value in told.items():
        table.add_row(words, "", str(value))
    console().print(table)
    tell(f"runs: {first.folder} and {second.folder}")
