"""Train the list of cells.md as one queue, the most telling runs first.

    python tables/first_evidence/run.py OUT [--jobs 8] [--without tables/first_evidence/results/a/runs.csv]

A run that ends makes room for the next, of whatever table, so that a GPU always has as many as it can take.
Give the same command again to go on: finished runs are kept, interrupted ones resume. Needs the data
(noiseproof data get cifar10 cifar100, and the human labels of CIFAR-N). ``noiseproof papers compare`` and
collect.py read OUT. ``--without`` may be given once for every runs.csv under results/.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from noiseproof.cli.progress_of_many import watch_many
from noiseproof.papers import get
from noiseproof.papers.manifest import Manifest, updated
from noiseproof.papers.plan import Changes, Planned, plan, with_folder
from noiseproof.papers.training import train

ALL = ("clean", "symmetric 0.4", "human 0.4")
WITHOUT_UNIT_MAXIMUM = ("AUL · no unit maximum", "AGCE · no unit maximum")


class Part(NamedTuple):
    """Some cells of a table."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


TABLE3 = Part("curriculum.table3", ("MAE", "MAE shift", "MAE scale"), ("symmetric 0.4",))
FIRST = (
    Part("curriculum.table5", columns=("symmetric 0.4 · snr",)),
    Part("curriculum.table5", columns=("human 0.4 · snr",)),
    Part("questions.readings", WITHOUT_UNIT_MAXIMUM, ("symmetric 0.4 · snr",)),
    Part("questions.saturation", columns=("symmetric 0.4",)),
    Part("imae.table6", ("ResNet-20",), ("symmetric 0.4",)),
    Part("questions.saturation", columns=("symmetric 0.8",)),
    TABLE3,
    Part("questions.ce", columns=("symmetric 0.4",)),
    Part("questions.readings", columns=ALL),
)
"""With one seed."""
THEN = (
    Part("curriculum.table5", columns=ALL),
    Part("questions.saturation"),
    Part("imae.table6", ("ResNet-20",)),
    TABLE3,
    Part("questions.ce", columns=("symmetric 0.4",)),
)
"""With one seed, with two, and so on."""
SEEDS = {"curriculum.table5": 5}
OTHERS = 3


def parts() -> Iterator[tuple[Part, int]]:
    """The parts of the list and how many seeds of them, in their order."""
    yield from ((part, 1) for part in FIRST)
    for seeds in range(1, max(SEEDS.values()) + 1):
        yield from ((part, seeds) for part in THEN if seeds <= SEEDS.get(part.table, OTHERS))


def queue(manifest: Manifest, changes: Changes) -> dict[str, Planned]:
    """Every run of the list once; the manifest learns which cells it fills."""
    found: dict[str, Planned] = {}
    for part, seeds in parts():
        planned = plan(get(part.table).select(part.rows, part.columns, seeds), changes)
        manifest.add(part.table, changes, planned)
        found |= planned
    return found


def finished(files: list[Path]) -> set[str]:
    """The runs that files of collect.py call finished."""
    return {line["run"] for file in files for line in read_csv(file) if line["state"] == "finished"}


def read_csv(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def main(
    out: Path,
    jobs: Annotated[int | None, typer.Option(help="Runs at the same time.")] = None,
    without: Annotated[list[Path] | None, typer.Option(help="runs.csv of runs that are finished.")] = None,
    model: Annotated[str | None, typer.Option(help="Only runs of this network.")] = None,
    most: Annotated[int | None, typer.Option(help="Only the first so many.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Shorten the recipes, to try it.")] = None,
    dry: Annotated[bool, typer.Option("--dry", help="Only say what would be run.")] = False,
) -> None:
    changes, known = Changes(epochs, "bf16"), finished(without or [])
    runs = {key: one for key, one in queue(Manifest(out), changes).items() if key not in known}
    runs = {key: one for key, one in runs.items() if model in (None, one.config.model)}
    runs = dict(list(runs.items())[:most])
    for key, one in runs.items():
        config = one.config
        typer.echo(f"{key} {config.model} {config.data} {config.noise} {config.loss} seed {config.seed}")
    if dry:
        return
    with updated(out) as manifest:
        queue(manifest, changes)
    configs = {key: with_folder(one, out) for key, one in runs.items()}
    problems = train(configs, jobs=jobs, watcher=watch_many(False))
    for key, problem in problems.items():
        typer.echo(f"{key}: {problem}", err=True)


if __name__ == "__main__":
    typer.run(main)
