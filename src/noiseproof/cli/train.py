"""``noiseproof train``: train one network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .flags import Quiet
from .paths import refuse_comparison
from .screen import cell, console
from .settings import read_config, with_settings

if TYPE_CHECKING:
    from ..train import Config, Run, Watcher


@with_settings()
def train(
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    tensorboard: Annotated[
        bool,
        typer.Option("--tensorboard", help="Also write the metrics for TensorBoard into the run folder."),
    ] = False,
    settings: Any = None,
) -> None:
    """Train a network and record margin and prediction of every sample.

    The same command with the same --out resumes an interrupted run. With --loss auto, trial runs, two of them
    of full length, select the loss or ELR and the learning rate (--lr or five times as much) by accuracy on
    held-out given labels.

    Several GPUs: torchrun --nproc-per-node 2 -m noiseproof train ...; --batch-size is the total batch size.
    """
    config = read_config(settings)
    from ..devices.distributed import rank_and_count
    from ..train import fit
    from ..train.config import AUTO, run_folder
    from .progress import ProgressBar, run_watcher

    refuse_comparison(run_folder(config))
    is_first = rank_and_count()[0] == 0
    quiet, tensorboard = quiet or not is_first, tensorboard and is_first
    watcher = run_watcher(config, quiet)
    try:
        if config.loss == AUTO:
            config = _chosen(config, watcher, quiet, settings["lr"] is not None)
        run = fit(config, watcher=_with_tensorboard(config, watcher) if tensorboard else watcher)
    finally:
        if isinstance(watcher, ProgressBar):
            watcher.close()
    if not is_first:
        return
    if as_json:
        typer.echo(json.dumps({"folder": str(run.folder), **(run.result or {})}, indent=2))
    else:
        _print(run)


def _chosen(config: Config, watcher: Watcher, quiet: bool, has_rate: bool) -> Config:
    """The config with a loss in place of "auto"; a given learning rate is not changed."""
    from ..auto import choose
    from ..auto.candidates import RATES
    from .progress import ProgressBar, write_line

    if config.method is not None:
        raise ValueError(
            f"--method {config.method} and --loss auto cannot be combined: leave one of them out"
        )

    def log(words: str) -> None:
        if isinstance(watcher, ProgressBar):
            watcher.progress.console.print(words, highlight=False, markup=False)
        elif not quiet:
            write_line(words)

    found = choose(config, watcher=watcher, rates=(1.0,) if has_rate else RATES, log=log)
    log(f"chosen: {found.words}")
    return found.config


def _with_tensorboard(config: Config, watcher: Watcher) -> Watcher:
    from ..integrations.tensorboard import TensorBoard
    from ..train.config import run_folder
    from ..train.run_writer import TENSORBOARD

    return TensorBoard(run_folder(config) / TENSORBOARD, watcher)


def summary(run: Run) -> dict[str, str]:
    """The main results of a run, as text by name."""
    from .progress import percent, time_words

    result = run.result or {}
    selected, fitted = result["selected"], result["train"]
    found = {} if run.choice is None else {"chosen": str(run.choice["words"])}
    measured = {"test accuracy": "not measured: there is no test data"}
    if result["best_epoch"] is not None:
        best = f"{percent(result['best_test_accuracy'])} (epoch {result['best_epoch']})"
        final = percent(result["final_test_accuracy"])
        measured = {"final test accuracy": final, "best test accuracy": best}
    found |= measured
    if selected is not None:
        found["selected by validation"] = (
            f"epoch {selected['epoch']}: test {percent(selected['test_accuracy'])},"
            f" validation {percent(selected['validation_accuracy'])}"
        )
    if selected is not None and run.choice is not None:
        found["recommended weights"] = _recommended(run)
    if fitted["noisy_subset"] is not None:
        record = run.record
        wrong = 0 if record.clean_label is None else int((record.label != record.clean_label).sum())
        count = round(fitted["noisy_subset"] * wrong)
        found["wrong labels memorised"] = f"{count:,} of {wrong:,} ({percent(fitted['noisy_subset'])})"
    return found | {"time": time_words(result["seconds"]), "folder": str(run.folder)}


def _recommended(run: Run) -> str:
    from ..auto import which_epoch

    if which_epoch(run) == "best":
        return "best.safetensors: validation accuracy was clearly lower at the last epoch"
    return "model.safetensors (last epoch): validation accuracy is not clearly lower than at the best epoch"


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
