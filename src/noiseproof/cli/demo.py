"""``noiseproof demo``: robust losses against cross entropy on digits with 40% wrong labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .compare import Jobs, print_comparison, report_failures, run_all

LOSSES = (
    "ce",
    "sl(alpha=0.01, beta=0.1)",
    "gce(q=0.9)",
    "imae(T=16.0)",
    "gr(beta=12.0, lam=0.5)",
    "unit_max(mae)",
    "unit_max(scale(mae, tau=3.0))",
)
"""The settings are those a noisy validation split chose, see benchmarks/demo_settings.md."""
SETTINGS: dict[str, Any] = {
    "data": "digits",
    "noise": "symmetric(0.4)",
    "model": "mlp(norm=True)",
    "lr": 0.05,
}
NEXT = """What to do next:
  noiseproof labels find {run}
      the labels of a run that are probably wrong
  noiseproof report {run}
      pictures of what was learned and what was memorised, as one HTML file
  noiseproof compare --loss ce --loss 'gce(q=0.9)' --data 'csv(path="rows_{{split}}.csv")'
      the same with your own data"""


def demo(
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Runs per loss.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 100,
    out: Annotated[Path, typer.Option(help="Folder of the table and the runs.")] = Path("runs/demo"),
    jobs: Jobs = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Train a small network on digits with 40% symmetric label noise, once per loss and seed."""
    from ..train import Config, grid

    configs = grid(Config(**SETTINGS, epochs=epochs), losses=LOSSES, seeds=seeds, out=out)
    found = run_all(configs, out, jobs, quiet)
    print_comparison(found, out, "Digits, 40% of the training labels wrong")
    typer.echo(NEXT.format(run=found.rows[-1].outcomes[0].folder))
    report_failures(found)
