"""``noiseproof demo``: compare robust losses with cross entropy on digits with 40% wrong labels."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .compare import Jobs, print_comparison, report_failures, run_all
from .flags import Quiet
from .paths import parse_folder
from .screen import print_text

if TYPE_CHECKING:
    from ..train.comparison.table import Row

LOSSES = (
    "ce",
    "sl(alpha=0.01, beta=0.1)",
    "gce(q=0.9)",
    'imae(T=16.0, normalize="none")',
    'gr(beta=12.0, lam=0.5, normalize="none")',
    "unit_max(mae)",
    "unit_max(scale(mae, tau=3.0))",
)
"""Hyper-parameters were selected on a noisy validation split, see benchmarks/demo_settings.md."""
SETTINGS: dict[str, Any] = {
    "data": "digits",
    "noise": "symmetric(0.4)",
    "model": "mlp(norm=True)",
    "lr": 0.05,
}
NEXT = """What to do next:
  open {report}
      which losses memorised wrong labels, which unlearned them, and the suspects as pictures
  noiseproof labels find {run}
      the labels of one run that are suspected to be wrong
  noiseproof labels review {run} --open
      review the suspects and decide; noiseproof labels apply then writes corrected data
  noiseproof compare --loss ce --loss 'gce(q=0.9)' --data 'csv(path="rows_{{split}}.csv")'
      compare losses on your own data"""


def demo(
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Runs per loss.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 100,
    out: Annotated[
        Path, typer.Option(parser=parse_folder, metavar="<path>", help="Folder of the table and the runs.")
    ] = Path("runs/demo"),
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as JSON, and nothing else.")
    ] = False,
) -> None:
    """Train a small network on digits with 40% symmetric label noise, once per loss and seed."""
    from ..train import Config, grid

    configs = grid(Config(**SETTINGS, epochs=epochs), losses=LOSSES, seeds=seeds, out=out)
    found = run_all(configs, out, jobs, quiet)
    finished = [row for row in found.rows if row.seeds]
    lines = write_suspects(best_of(finished), out) if finished else []
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        print_comparison(found, out, "Digits, 40% of the training labels wrong")
        for line in lines:
            print_text(line)
    report_failures(found)


def best_of(rows: Sequence[Row]) -> Path:
    """A run of the row with the highest final accuracy, as in the report."""
    best = max(rows, key=lambda row: row.mean("final") or 0.0)
    return next(outcome.folder for outcome in best.outcomes if outcome.result is not None)


def write_suspects(run: Path, out: Path) -> list[str]:
    """Write suspects.csv and report.html; the result says how many suspects are truly wrong labels."""
    from .. import labels
    from ..dynamics import RunFolder
    from ..labels.findings import weakness
    from ..report import write_comparison

    found, record = labels.find(run), RunFolder(run).record
    number, warning = labels.write(found, out / "suspects.csv"), weakness(found.attrs)
    lines = [f"suspects.csv: {number} labels are suspected"]
    if warning:
        lines.append(f"Weak evidence. {warning}")
    if record.clean_label is not None:
        wrong = record.label.ne(record.clean_label).numpy()
        right = int(wrong[found.is_label_issue.to_numpy()].sum())
        lines.append(f"{int(wrong.sum())} labels are truly wrong; {right} of the suspects are among them")
    lines.append(f"report.html: {write_comparison(out)}")
    return [*lines, NEXT.format(run=shlex.quote(str(run)), report=shlex.quote(str(out / "report.html")))]
