"""Try remedies for classes that are never learned: fp32, warm-up, clipping and the initial head.

    python tables/lost_classes.py run --divide-by 4 --out runs/lost --pack tables/results/lost
    python tables/lost_classes.py table --divide-by 4 --results tables/results/lost

``run`` trains four cells of the papers with each remedy, one seed, in bf16 unless named otherwise; ``table``
prints final accuracy and the number of classes with less than 1% test accuracy.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from noiseproof.grammar import call, written
from noiseproof.papers import get
from noiseproof.papers.plan import config_hash, recipe_epochs, shortened
from noiseproof.papers.results import pack
from noiseproof.train import Config
from noiseproof.train.comparison.runs import ComparisonWatcher, compare

CELLS = {
    "MAE, symmetric 0.8 (Curriculum, Table 5)": ("curriculum.table5", "MAE", "symmetric 0.8 · diff"),
    "AGCE, clean (Curriculum, Table 5)": ("curriculum.table5", "AGCE", "clean · test %"),
    "MAE, symmetric 0.8 (IMAE, Table 6)": ("imae.table6", "ResNet-20 · MAE", "symmetric 0.8 · final %"),
    "IMAE, symmetric 0.8 (IMAE, Table 6)": ("imae.table6", "ResNet-20 · IMAE", "symmetric 0.8 · final %"),
}
REMEDIES: dict[str, dict[str, Any]] = {
    "none": {},
    "fp32": {"precision": "fp32"},
    "head times 0": {"head": 0},
    "head times 10": {"head": 10},
    "gradient norm at most 1": {"clip": 1.0},
    "warm-up of 5 epochs": {"warmup": 5},
}
STEPS = 391
"""Steps of an epoch of CIFAR-10 with batches of 128."""
LOST = 1.0
"""A class with a lower test accuracy, in percent, is counted as lost."""
Cell = tuple[str, str, str]


def config_of(cell: Cell, remedy: dict[str, Any], divide_by: float) -> Config:
    table, row, column = cell
    settings = dict(get(table).cell(row, column).filling.settings)
    if divide_by != 1:
        settings = shortened(settings, max(1, round(recipe_epochs(settings) / divide_by)))
    changed = {"precision": "bf16", **remedy}
    if "head" in changed:
        changed["model"] = f"{settings['model']}(head={changed.pop('head')})"
    if "warmup" in changed:
        name, _, _ = settings["schedule"].partition("(")
        _, options = call(settings["schedule"], "schedule", {name: ("by", "milestones")})
        by_step = options.get("by") == "iteration"
        options["warmup"] = changed.pop("warmup") * (STEPS if by_step else 1)
        changed["schedule"] = written(name, options)
    return Config(**{**settings, **changed}, seed=0)


def configs(divide_by: float) -> dict[tuple[str, str], Config]:
    return {
        (name, words): config_of(cell, remedy, divide_by)
        for name, cell in CELLS.items()
        for words, remedy in REMEDIES.items()
    }


def run(options: argparse.Namespace) -> None:
    found = [
        one.replace(out=(options.out / f"run-{config_hash(one)}").as_posix())
        for one in configs(options.divide_by).values()
    ]
    compare(found, jobs=options.jobs, watcher=ComparisonWatcher())
    if options.pack:
        pack(options.out, options.pack, options.commit)


def table(options: argparse.Namespace) -> None:
    lines = csv.DictReader((options.results / "runs.csv").read_text(encoding="utf-8").splitlines())
    runs = {line["run"]: line for line in lines}
    print(f"| cell | {' | '.join(REMEDIES)} |\n|{'---|' * (len(REMEDIES) + 1)}")
    keys = {place: config_hash(one) for place, one in configs(options.divide_by).items()}
    for name in CELLS:
        cells = [shown(runs.get(keys[name, words])) for words in REMEDIES]
        print(f"| {name} | {' | '.join(cells)} |")


def shown(run: dict[str, str] | None) -> str:
    if run is None:
        return "not run"
    lost = sum(float(share) < LOST for share in run["test_class_accuracy"].split())
    return f"{100 * float(run['final']):.1f}, {lost} lost"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--divide-by", type=float, default=1.0, help="the paper's epochs are divided by this")
    parser.add_argument("--out", type=Path, default=Path("runs/lost"))
    parser.add_argument("--results", type=Path, default=Path("tables/results/lost"))
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--commit", default="")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    run(options) if options.what == "run" else table(options)


if __name__ == "__main__":
    main()
