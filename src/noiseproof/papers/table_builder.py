"""From the printed records of a paper and its rules to tables."""

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
    """One printed number, or word, its place in the table, and what the paper says of it."""

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
    """Number of runs the number is the mean of, where the paper states it."""
    best_of: int | None = None
    """Number of runs the number is the best of."""
    seed: int | None = None
    note: str = ""
    stated: str = ""
    """Why nothing can be measured: "a formula", "a fact of a dataset", ..."""
    computed: tuple[str, str] | None = None
    """What is computed, and of what; see ``cells.Computed``."""
    quoted_from: str = ""
    """Source of the number, where the paper took it from elsewhere."""
    missing: str = ""
    """What the library lacks to run it."""

    @property
    def without_runs(self) -> Filling | None:
        """The filling of a cell that needs no run, or cannot have one."""
        if self.stated:
            return Stated(self.stated)
        if self.computed is not None:
            return Computed(*self.computed)
        if self.quoted_from:
            return Quoted(self.quoted_from, read("systems").get(self.method, ""))
        return Missing(self.missing) if self.missing else None


@cache
def read(name: str) -> Any:
    """A file of ``printed/``: the records of a paper, "figures", "claims", or "systems" only quoted."""
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
    """Notes that several tables share, by name; any other text is a note itself."""
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
"""Mean and deviation that inputs are normalised with."""
HUMAN = {"CIFAR-10": 'cifar_n(kind="worse")', "CIFAR-100": 'cifar_n(kind="noisy")'}
"""CIFAR with human labels: "worst" of CIFAR-10N, "fine" of CIFAR-100N."""


def subject(record: Record) -> dict[str, str]:
    """Data and network of a record as settings."""
    data = HUMAN[record.dataset] if record.noise == "human" else DATA[record.dataset]
    return {"data": data, "model": NETWORKS[record.network.partition(" (")[0]]}


def cropped(dataset: str) -> str:
    """Padded by 4 pixels, cropped at random, mirrored at random."""
    return f"crop(padding=4) | flip | normalize({CONSTANTS[dataset]})"


def shifted(dataset: str, by: str = "width=0.125, height=0.125") -> str:
    """Shifted at random, mirrored at random; MNIST is only normalised."""
    moved = "" if dataset == "MNIST" else f"shift({by}) | flip | "
    return f"{moved}normalize({CONSTANTS[dataset]})"


PRETRAINED = "resnet50.safetensors"
"""ImageNet weights of ResNet-50, in the data folder."""


def photos(size: int, jitter: str = "") -> str:
    """A random part of a photo of 256 x 256 pixels, mirrored at random."""
    return f"crop(size={size}) | flip | {jitter}normalize(imagenet)"


def noise(record: Record, specs: Mapping[str, str]) -> str | None:
    """The noise of a record, by the specs of a paper; None where labels are clean or human."""
    return specs[record.noise].format(rate=record.rate) if record.noise in specs and record.rate else None


Rule = Callable[[Record], Filling]


class Reading(NamedTuple):
    """Another way to read the recipe of a paper, where its text is incomplete or contradicts itself."""

    words: str
    change: Callable[[Settings], Settings]
    """From the settings of a run in the default reading to those in this one."""


def make_tables(
    paper: str,
    fill: Rule,
    special: Mapping[str, Rule] | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> dict[str, Table]:
    """The tables of a paper by full name, such as ``gr.table3``, in the order of its file.

    Tables with runs follow once more in every other reading, as ``gr.table3:printed``.

    Args:
        fill: returns the filling of a cell that needs runs.
        special: tables with a different rule.
    """
    rules = {name: (special or {}).get(name, fill) for name in printed(paper)}
    found = {f"{paper}.{name}": _table(paper, name, rule) for name, rule in rules.items()}
    others = {
        f"{table.name}:{name}": in_reading(table, name, reading)
        for name, reading in (readings or {}).items()
        for table in found.values()
        if table.counts["runs"]
    }
    return found | others


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
