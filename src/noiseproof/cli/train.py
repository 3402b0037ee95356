"""``noiseproof train``: one run, as its settings say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Quiet
from .places import check_no_comparison
from .screen import cell, console
from .settings import read_config, with_settings

if TYPE_CHECKING:
    from ..train import Config, Run, Watcher


@with_settings()
def train(
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write the metrics for TensorBoard, into the run.")
    ] = False,
    settings: Any = None,
) -> None:
    """Train a network and keep what happened to every sample.

    The same command with the same --out goes on where an interrupted run stopped.
    """
    config = read_config(settings)
    from ..train import fit
    from ..train.config import run_folder
    from .progress import Bar, watch

    check_no_comparison(run_folder(config))
    watcher = watch(config, quiet)
    try:
        run = fit(config, watcher=_with_tensorboard(config, watcher) if tensorboard else watcher)
    finally:
        if isinstance(watcher, Bar):
            watcher.close()
    if as_json:
        typer.echo(json.dumps({"folder": str(run.folder), **(run.result or {})}, indent=2))
    else:
        _print(run)


def _with_tensorboard(config: Config, watcher: Watcher) -> Watcher:
    from ..train.config import run_folder
    from ..train.tensorboard import FOLDER, TensorBoard

    return TensorBoard(run_folder(config) / FOLDER, watcher)


def summary(run: Run) -> dict[str, str]:
    """What a reader wants to know first, in words."""
    from .progress import percent, time_words

    result = run.result or {}
    selected, fitted = result["selected"], result["train"]
    found = {"test accuracy": "not measured: there is no test data"}
    if result["best_epoch"] is not None:
        best = f"{percent(result['best_test_accuracy'])} (epoch {result['best_epoch']})"
        found = {"final test accuracy": percent(result["final_test_accuracy"]), "best test accuracy": best}
    if selected is not None:
        found["selected by validation"] = (
            f"epoch {selected['epoch']}: test {percent(selected['test_accuracy'])},"
            f" validation {percent(selected['validation_accuracy'])}"
        )
    if fitted["noisy_subset"] is not None:
        record = run.record
        wrong = 0 if record.clean_label is None else int((record.label != record.clean_label).sum())
        count = round(fitted["noisy_subset"] * wrong)
        found["wrong labels memorised"] = f"{count:,} of {wrong:,} ({percent(fitted['noisy_subset'])})"
    return found | {"time": time_words(result["seconds"]), "folder": str(run.folder)}


def _print(run: Run) -> None:
    from rich.table import Table

    config = run.config
    title = ", ".join(part for part in (config.method or config.loss, config.data, config.noise) if part)
    table = Table(title=cell(title), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in summary(run).items():
        table.add_row(name, cell(words))
    console().print(table)
