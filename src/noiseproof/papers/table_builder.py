"""Builds the tables of a paper from its printed numbers and from rules for the settings of their runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from .cells import Cell, Computed, Filling, Missing, Quoted, Runs, Settings, Stated, Table

PAPERS = ("gr", "imae", "sl", "nal", "curriculum")


@dataclass(frozen=True)
class Record:
    """A printed number or word, its row and column, and what the paper states about it."""

    row: str
    column: str
    metric: str
    value: float | str
    std: float | None = None
    dataset: str = ""
    network: str = ""
    noise: str = ""
    rate: float = 0.0
    method: str = ""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    runs: int | None = None
    """Number of runs whose mean is printed; None if the paper does not state it."""
    best_of: int | None = None
    """Number of runs of which the best is printed."""
    seed: int | None = None
    note: str = ""
    stated: str = ""
    """Why nothing can be measured: "a formula", "a fact of a dataset", ..."""
    computed: tuple[str, str] | None = None
    """The arguments of ``cells.Computed``."""
    quoted_from: str = ""
    """The work from which the paper quotes the number."""
    missing: str = ""
    """What is missing to run the cell."""

    @property
    def without_runs(self) -> Filling | None:
        """The filling of a cell without runs; None if the cell needs runs."""
        if self.stated:
            return Stated(self.stated)
        if self.computed is not None:
            return Computed(*self.computed)
        if self.quoted_from:
            return Quoted(self.quoted_from, read("systems").get(self.method, ""))
        return Missing(self.missing) if self.missing else None


@cache
def read(name: str) -> Any:
    """The content of a file of ``printed/``: a paper, "figures", "claims", or "systems" (quoted methods)."""
    text = (files(__package__) / "printed" / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text)


@cache
def printed(paper: str) -> Mapping[str, tuple[Record, ...]]:
    """All tables of a paper by name, in order.

    Example:
        >>> printed("sl")["table3"][-1].method, printed("sl")["table3"][-1].value
        ('SL', 71.02)
    """
    records = read(paper)["records"]
    return {table: tuple(Record(**entry) for entry in entries) for table, entries in records.items()}


def notes(paper: str, *names: str) -> tuple[str, ...]:
    """Notes of a table: a name stands for a note that several tables share, any other text is a note."""
    shared = read(paper).get("notes", {})
    return tuple(shared.get(name, name) for name in names)


NETWORKS = {
    "4-layer CNN": "cnn4",
    "8-layer CNN": "cnn8",
    "ResNet-20": "resnet20",
    "ResNet-34": "resnet34",
    "ResNet-44": "resnet44",
    "ResNet-56": "resnet56",
    "GoogLeNet V1": "googlenet",
    "GoogLeNet V2": "googlenet_v2",
    "ResNet-50": 'resnet50(stem="imagenet")',
}
DATA = {"MNIST": "mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Vehicles-10": "vehicles10"}
DATA |= {"Clothing1M": "clothing1m", "MARS": "mars"}
CONSTANTS = DATA | {"Vehicles-10": "cifar100"}
"""Dataset whose mean and standard deviation normalise the inputs."""
HUMAN = {"CIFAR-10": 'cifar_n(kind="worse")', "CIFAR-100": 'cifar_n(kind="noisy")'}
"""CIFAR with human labels: "worst" of CIFAR-10N, "fine" of CIFAR-100N."""


def subject(record: Record) -> dict[str, str]:
    """Data and network of a record as settings."""
    data = HUMAN[record.dataset] if record.noise == "human" else DATA[record.dataset]
    return {"data": data, "model": NETWORKS[record.network.partition(" (")[0]]}


def cropped(dataset: str) -> str:
    """Augmentation: pad by 4 pixels, crop at random, mirror at random."""
    return f"crop(padding=4) | flip | normalize({CONSTANTS[dataset]})"


def shifted(dataset: str, by: str = "width=0.125, height=0.125") -> str:
    """Augmentation: shift at random, mirror at random; MNIST is only normalised."""
    moved = "" if dataset == "MNIST" else f"shift({by}) | flip | "
    return f"{moved}normalize({CONSTANTS[dataset]})"


PRETRAINED = "resnet50.safetensors"
"""ImageNet weights of ResNet-50, in the data folder."""


def photos(size: int, jitter: str = "") -> str:
    """Augmentation of photos of 256 x 256 pixels: crop at random, mirror at random."""
    return f"crop(size={size}) | flip | {jitter}normalize(imagenet)"


def noise(record: Record, specs: Mapping[str, str]) -> str | None:
    """The noise of a record as a spec; None if its labels are clean or human."""
    return specs[record.noise].format(rate=record.rate) if record.noise in specs and record.rate else None


Rule = Callable[[Record], Filling]


class Reading(NamedTuple):
    """Another interpretation of the recipe of a paper whose text is incomplete or contradictory."""

    words: str
    change: Callable[[Settings], Settings]
    """Maps the settings of a run in the default reading to those in this reading."""


def make_tables(
    paper: str,
    fill: Rule,
    special: Mapping[str, Rule] | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> dict[str, Table]:
    """The tables of a paper by full name, such as ``gr.table3``, in the order of its file.

    They are followed by tables whose runs differ in another reading, such as ``gr.table3:printed``.

    Args:
        fill: returns the filling of a cell that needs runs.
        special: tables with a different rule.
    """
    rules = {name: (special or {}).get(name, fill) for name in printed(paper)}
    found = {f"{paper}.{name}": _table(paper, name, rule) for name, rule in rules.items()}
    others = [
        (table, in_reading(table, name, reading))
        for name, reading in (readings or {}).items()
        for table in found.values()
    ]
    return found | {other.name: other for table, other in others if other.cells != table.cells}


def in_reading(table: Table, name: str, reading: Reading) -> Table:
    """The table with the runs of another reading."""

    def changed(runs: Runs) -> Runs:
        baseline = None if runs.baseline is None else reading.change(runs.baseline)
        return replace(runs, settings=reading.change(runs.settings), baseline=baseline)

    notes = (f"Read as {name!r}: {reading.words}", *table.notes)
    return replace(table.with_runs(changed), name=f"{table.name}:{name}", notes=notes)


def _table(paper: str, name: str, rule: Rule) -> Table:
    about = read(paper)["tables"][name]
    cells = [
        Cell(one.row, one.column, one.metric, one.value, one.without_runs or rule(one), one.std, one.note)
        for one in printed(paper)[name]
    ]
    return Table(f"{paper}.{name}", about["title"], tuple(cells), notes(paper, *about.get("notes", ())))
