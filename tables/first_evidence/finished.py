"""The finished runs under results/, by what was trained: a list of seeds for every setting."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from run import read_csv

from noiseproof.dynamics.accuracy import hybrid_accuracy

HERE = Path(__file__).parent
FOLDERS = (
    "a",
    "791f61f",
    "b8c8497",
    "0652574",
    "0581f09",
    "a61fdd8",
    "024ed7a",
    "02762e9",
    "5b1efd5",
    "4f90794",
    "acb02c3",
)
TEST_SIZE, TRAIN_SIZE = 10_000, 50_000
SUBSETS = ("best", "final", "noisy subset", "clean subset", "hybrid")
"""Numbers of IMAE Table 6."""

Run: TypeAlias = dict[str, str]
"""A line of runs.csv."""


class Setting(NamedTuple):
    """What is the same in all seeds."""

    labels: str
    """As in the columns of the tables: "clean", "symmetric 0.4", "human 0.4"."""
    model: str
    loss: str


def lines_of(name: str) -> list[Run]:
    """Lines of the files of that name, of all folders."""
    return [line for folder in FOLDERS for line in read_csv(HERE / "results" / folder / name)]


def finished_runs() -> list[Run]:
    return [run for run in lines_of("runs.csv") if run["state"] == "finished"]


def by_setting(runs: Iterable[Run]) -> dict[Setting, list[Run]]:
    """Runs of a setting in the order of their seeds."""
    found: dict[Setting, list[Run]] = {}
    for run in sorted(runs, key=lambda run: int(run["seed"])):
        found.setdefault(Setting(labels(run), run["model"], run["loss"]), []).append(run)
    return found


def labels(run: Run) -> str:
    human = run["data"].startswith("cifar_n")
    return "human 0.4" if human else run["noise"].replace("(", " ").rstrip(")") or "clean"


def percent(run: Run, name: str) -> float:
    return 100 * float(run[name])


def lost_classes(run: Run) -> int:
    """Classes that the network never answers rightly at the end."""
    return [float(value) for value in run["test_class_accuracy"].split()].count(0)


def best_run(runs: Sequence[Run]) -> Run:
    """The one with the highest accuracy of the last epoch, whose every number counts."""
    return max(runs, key=lambda run: float(run["final_test_accuracy"]))


def subsets(run: Run) -> dict[str, float]:
    """Numbers of IMAE Table 6, in per cent; without noise there is no noisy subset."""
    intact, final = float(run["train_intact"]), float(run["final_test_accuracy"])
    names = ("best_test_accuracy", "final_test_accuracy", "train_noisy_subset", "train_clean_subset")
    found = {word: percent(run, name) for word, name in zip(SUBSETS, names, strict=False) if run[name]}
    return found | {"hybrid": 100 * hybrid_accuracy(final, TEST_SIZE, intact, TRAIN_SIZE)}


def mean_of(values: Sequence[float]) -> str:
    """``90.20``, or mean and standard deviation where there are several.

    Example:
        >>> mean_of([90.2]), mean_of([90.0, 91.0])
        ('90.20', '90.50 ± 0.71')
    """
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread}"
