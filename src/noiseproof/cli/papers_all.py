"""``noiseproof papers queue``, ``tally``, ``claim`` and ``report``: commands over all tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .compare import Jobs
from .data_check import check_data
from .papers_print import print_grid
from .papers_run import HOME, AsJson, Out
from .paths import check_writable
from .screen import print_text

if TYPE_CHECKING:
    from ..papers.claims import Verdict
    from ..papers.queue import QueuedRun

Done = Annotated[
    list[Path] | None,
    typer.Option(help="A runs.csv, or a folder with such files, whose runs are skipped; may be repeated."),
]
SHOWN = 12


def queue(
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Stop after this many minutes.")] = None,
    done: Done = None,
    out: Out = HOME,
    pack: Annotated[
        Path | None, typer.Option(help="Write runs.csv and epochs.csv here, every minute and at the end.")
    ] = None,
    commit: Annotated[str, typer.Option(help="Commit hash to write into runs.csv.")] = "",
    model: Annotated[
        list[str] | None, typer.Option(help="Only runs of this network; may be repeated.")
    ] = None,
    table: Annotated[list[str] | None, typer.Option(help="Only runs of this table; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Largest number of runs.")] = None,
    precision: Annotated[str, typer.Option(help="fp32 or bf16.")] = "bf16",
    epochs: Annotated[int | None, typer.Option(min=1, help="Train this many epochs, as a trial.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    jobs: Jobs = None,
    dry: Annotated[bool, typer.Option("--dry", help="Print the runs without training them.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train the runs that cells of the papers still need, the most informative first.

    With --minutes, as many as fit into that time. Repeat the command to resume after an interruption.
    """
    from ..papers import queue as queueing
    from ..papers.plan import Changes, with_folder
    from ..papers.results import read_results
    from .comparison_progress import comparison_watcher

    changes = Changes(epochs, precision)
    queued = queueing.queued_runs(changes, read_results(done or ())[0])
    queued = [one for one in queued if not model or one.planned.config.model in model]
    queued = [one for one in queued if not table or any(cell[0] in table for cell in one.planned.cells)]
    chosen = queueing.runs_within(queued[:limit], minutes)
    if as_json:
        typer.echo(json.dumps([_plain(one) for one in chosen], indent=2, ensure_ascii=False))
    else:
        _print(chosen, len(queued))
    if dry or not chosen:
        return
    folder = out.expanduser()
    check_data(with_folder(one.planned, folder) for one in chosen if one.planned.relabel_of is None)
    watcher = queueing.PackingWatcher(comparison_watcher(quiet), folder, pack, commit)
    options: dict[str, Any] = {"minutes": minutes, "jobs": jobs, "device": device}
    problems = queueing.train_queue(chosen, out=folder, watcher=watcher, **options)
    typer.echo(f"{queueing.count_finished(chosen, folder)} of {len(chosen)} runs are finished", err=True)
    for key, problem in problems.items():
        typer.echo(f"noiseproof: {key}: {' '.join(problem.split())}", err=True)
    if problems:
        raise typer.Exit(1)


def tally(
    results: Annotated[list[Path], typer.Argument(help="runs.csv, or folders with some.")],
    tried: Annotated[
        Path | None, typer.Option(help="CSV of what was tried: table, row, column, tried.")
    ] = None,
    md: Annotated[Path | None, typer.Option(help="Write the page of all cells as Markdown.")] = None,
    readings: Annotated[
        bool, typer.Option("--readings", help="Also count other readings of the recipes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count the cells that were run, and those that agree with the printed number."""
    from ..atomic import write_text
    from ..papers import tally as tallying
    from ..papers.results import read_results

    found = tallying.compared(*read_results(results), readings=readings)
    if md is not None:
        write_text(md, tallying.to_markdown(found, tallying.read_tried(tried)))
    counts = tallying.to_dict(found)
    if as_json:
        typer.echo(json.dumps(counts, indent=2))
        return
    rows = [[name, *map(str, list(one.values())[:6])] for name, one in counts["tables"].items() if one["run"]]
    rows.append(["all", *map(str, counts["all"].values())])
    print_grid(("table", "cells", "run", "shortened", "agree", "far from CE", "agree"), rows, range(1, 7))


def claim(
    number: Annotated[int | None, typer.Argument(help="1 to 17; all if left out.")] = None,
    results: Annotated[
        list[Path] | None, typer.Option(help="A runs.csv, or a folder with some; may be repeated.")
    ] = None,
    out: Out = HOME,
    md: Annotated[Path | None, typer.Option(help="Write the page of all claims as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check the claims of the papers against the numbers of our runs.

    Runs are read from --results, or else from --out; commands that train missing runs are printed.
    """
    from ..atomic import write_text
    from ..papers.claims import CLAIMS, judge, to_dict, to_markdown
    from ..papers.results import read_folder, read_results

    known = {one.number: one for one in CLAIMS}
    if number is not None and number not in known:
        raise ValueError(f"there is no claim {number}: choose 1 to {max(known)}")
    found, _ = read_results(results) if results else read_folder(out)
    chosen = CLAIMS if number is None else (known[number],)
    verdicts = [judge(one, found) for one in chosen]
    if md is not None:
        write_text(md, to_markdown(verdicts))
    if as_json:
        typer.echo(json.dumps([to_dict(one) for one in verdicts], indent=2, ensure_ascii=False))
    elif number is None:
        print_grid(
            ("claim", "", "verdict"), [[str(v.claim.number), v.claim.words, v.words] for v in verdicts]
        )
    else:
        _print_claim(verdicts[0])


def report(
    tables: Annotated[Path, typer.Argument(help="Folder of the pages, such as tables.")] = Path("tables"),
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("papers.html"),
) -> None:
    """Write one HTML file with counts, claims, printed and our numbers, figures, errata and all cells."""
    from ..atomic import write_text
    from ..papers.report_page import page

    check_writable(out)
    write_text(out, page(tables))
    print_text(f"wrote {out}")


def _print_claim(verdict: Verdict) -> None:
    print_text(f"{verdict.claim.words} ({verdict.claim.source}): {verdict.words}")
    print_grid(("statement", ""), verdict.answers)
    if verdict.numbers:
        print_grid(("number", "ours"), [[n, f"{v:.2f}"] for n, v in verdict.numbers.items()], range(1, 2))
    for command in verdict.commands:
        print_text(f"missing: {command}")


def _print(chosen: list[QueuedRun], all_queued: int) -> None:
    seconds = sum(one.seconds for one in chosen)
    typer.echo(f"{len(chosen)} of {all_queued} runs, about {seconds / 60:.0f} minutes of one H200", err=True)
    for one in chosen[:SHOWN]:
        config = one.planned.config
        words = [config.model, config.data, config.noise, config.method or config.loss, f"seed {config.seed}"]
        tables = ", ".join(dict.fromkeys(cell[0] for cell in one.planned.cells))
        typer.echo(f"{one.key} {' '.join(word for word in words if word)} ({tables})", err=True)
    if len(chosen) > SHOWN:
        typer.echo(f"and {len(chosen) - SHOWN} more (--json lists all)", err=True)


def _plain(one: QueuedRun) -> dict[str, object]:
    config = one.planned.config
    settings = {name: getattr(config, name) for name in ("model", "data", "noise", "loss", "method", "seed")}
    return {"run": one.key, **settings, "seconds": one.seconds, "cells": one.planned.cells}
