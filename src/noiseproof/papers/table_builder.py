"""From the printed records of a paper and its rules to tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from .cells import JOINT, METRICS, Cell, Computed, Filling, Missing, Quoted, Runs, Settings, Stated, Table

PAPERS = ("gr", "imae", "sl", "nal", "curriculum")


@dataclass(frozen=True)
class Record:
    """One printed number, or word, with what the paper says of it."""

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
    """Runs the number is the mean of, where the paper says so."""
    best_of: int | None = None
    """Runs the number is the best of."""
    seed: int | None = None
    quoted_from: str = ""
    """Whose number it is, where the table itself says that it was taken from elsewhere."""
    kind: str = "number"
    """"number", "formula" or "qualitative"."""
    note: str = ""


class About(NamedTuple):
    """What a table shows, what must be said of it, and whose numbers some of its rows are, by method."""

    title: str
    notes: tuple[str, ...]
    quoted: Mapping[str, str]


@cache
def _read(paper: str) -> Mapping[str, Any]:
    text = (files(__package__) / "printed" / f"{paper}.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@cache
def printed(paper: str) -> Mapping[str, tuple[Record, ...]]:
    """All tables of a paper by name, in order.

    Example:
        >>> printed("sl")["table3"][-1]
        Record(metric='test_accuracy_%', value=71.02, std=None, dataset='Clothing1M', ...
    """
    records = _read(paper)["records"]
    return {table: tuple(Record(**entry) for entry in entries) for table, entries in records.items()}


def notes(paper: str, *names: str) -> tuple[str, ...]:
    """Notes that several tables share, by name; what is not a name is a note itself."""
    shared = _read(paper).get("notes", {})
    return tuple(shared.get(name, name) for name in names)


def about(paper: str, table: str) -> About:
    told = _read(paper)["tables"][table]
    quoted = {row: source for source, rows in told.get("quoted", {}).items() for row in rows}
    return About(told["title"], notes(paper, *told.get("notes", ())), quoted)


SILENT = {"g", "emphasis_focus", "constraints", "same as", "beta_lambda", "A"}
"""Hyper-parameters that tell no two rows apart."""
OF_COLUMNS = ("optimizer", "lr", "delta")
"""Those that tell columns apart, in the one table that is about optimisers."""
LETTERS = {"lambda": "λ", "beta": "β", "tau": "τ", "delta": "δ"}

Part = Callable[[Record], str]


def name_places(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Row and column of every record.

    A row is the method, with dataset and network where they vary; where one method has several numbers in a
    column also whose they are and, if that is not enough, its hyper-parameters. A column is the noise and,
    where they vary, the metric.

    Example:
        >>> clean = Record(metric="snr", value=1.0, method="MAE", noise="clean")
        >>> noisy = Record(metric="snr", value=2.0, method="MAE", noise="symmetric", rate=0.4)
        >>> name_places([clean, noisy])
        [('MAE', 'clean'), ('MAE', 'symmetric 0.4')]
    """
    varying = [part for part in (_dataset, _network) if len({part(record) for record in records}) > 1]
    metrics = {record.metric for record in records}
    columns = [_column(record, len(metrics) > 1) for record in records]
    fixed = _fixed(records)
    more: tuple[list[Part], ...] = ([], [_source], [lambda record: _options(record, fixed), _source])
    for parts in more:
        rows = [_joined(record, [*varying, _method, *parts]) for record in records]
        places = list(zip(rows, columns, strict=True))
        if len(set(places)) == len(records):
            break
    return places


def _dataset(record: Record) -> str:
    return record.dataset


def _network(record: Record) -> str:
    return record.network


def _method(record: Record) -> str:
    return record.method


def _source(record: Record) -> str:
    return f"from {record.quoted_from}" if record.quoted_from else ""


def _joined(record: Record, parts: Sequence[Part]) -> str:
    return JOINT.join(word for part in parts if (word := part(record))) or "all"


def _column(record: Record, with_metric: bool) -> str:
    noise = "" if record.noise == "real-world" else record.noise
    words = [f"{noise} {record.rate:g}" if noise not in ("", "clean") else noise]
    words += [
        _option(name, record.hyperparameters[name]) for name in OF_COLUMNS if name in record.hyperparameters
    ]
    if with_metric or not noise:
        words.append(METRICS[record.metric].words)
    return JOINT.join(word for word in words if word)


def _fixed(records: Sequence[Record]) -> Mapping[str, object]:
    """Hyper-parameters that are the same wherever they are given."""
    values: dict[str, set[object]] = {}
    for record in records:
        for name, value in record.hyperparameters.items():
            values.setdefault(name, set()).add(value)
    return {name: found for name, found in values.items() if len(found) == 1 and found != {True}}


def _options(record: Record, fixed: Mapping[str, object]) -> str:
    told = [
        _option(name, value)
        for name, value in record.hyperparameters.items()
        if name not in SILENT and name not in fixed
    ]
    return ", ".join(told)


def _option(name: str, value: object) -> str:
    if value is True:
        return name
    if name == "optimizer":
        return str(value)
    return f"{LETTERS.get(name, name)}={value:g}" if isinstance(value, (int, float)) else f"{name}={value}"


DATA = {"MNIST": "mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Vehicles-10": "vehicles10"}
NETWORKS = {
    "4-layer CNN": "cnn4",
    "8-layer CNN": "cnn8",
    "ResNet-20": "resnet20",
    "ResNet-34": "resnet34",
    "ResNet-44": "resnet44",
    "ResNet-56": "resnet56",
    "GoogLeNet V1": "googlenet",
}
CONSTANTS = {"MNIST": "mnist", "CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "Vehicles-10": "cifar100"}
"""Mean and deviation that inputs are normalised with."""
HUMAN = {"CIFAR-10": 'cifar_n(kind="worse")', "CIFAR-100": 'cifar_n(kind="noisy")'}
"""CIFAR under the labels people gave: "worst" of CIFAR-10N, "fine" of CIFAR-100N."""


def subject(record: Record) -> dict[str, str]:
    """Data and network of a record as settings."""
    data = HUMAN[record.dataset] if record.noise == "human" else DATA[record.dataset]
    return {"data": data, "model": NETWORKS[record.network]}


def cropped(record: Record) -> str:
    """Padded by 4 pixels, cropped at random, mirrored at random."""
    return f"crop(padding=4) | flip | normalize({CONSTANTS[record.dataset]})"


def shifted(record: Record, by: str = "width=0.125, height=0.125") -> str:
    """Moved at random, mirrored at random; MNIST is only normalised."""
    moved = "" if record.dataset == "MNIST" else f"shift({by}) | flip | "
    return f"{moved}normalize({CONSTANTS[record.dataset]})"


Rule = Callable[[Record], Filling]


class Reading(NamedTuple):
    """Another way to read the recipe of a paper, where its text leaves one or contradicts itself."""

    words: str
    change: Callable[[Settings], Settings]
    """From the settings of a run in the default reading to those in this one."""


STATED = {
    "tau": "a hyper-parameter, used by the runs of other tables",
    "hyperparameter_a": "a hyper-parameter, used by the runs of other tables",
    "hyperparameter_q": "a hyper-parameter, used by the runs of other tables",
    "gpu_memory_GB": "memory of the authors' own runs",
    **dict.fromkeys(("n_train", "n_val", "n_test", "n_classes", "input_side_px"), "a fact of a dataset"),
    "noise_rate_%": "a fact of a dataset",
}
UNAVAILABLE = {
    "Clothing1M": "the library has no Clothing1M: its images are given out on request only",
    "MARS": "the library has neither MARS nor retrieval by tracklets (mAP, CMC)",
    "WebVision (k=50)": "the library has no WebVision: its images are gigabytes behind a form",
    "WebVision (k=200)": "the library has no WebVision: its images are gigabytes behind a form",
    "WebVision (k=400)": "the library has no WebVision: its images are gigabytes behind a form",
}
"""Datasets nothing can be run on, and why."""


def make_tables(
    paper: str,
    fill: Rule,
    special: Mapping[str, Rule] | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> dict[str, Table]:
    """The tables of a paper by full name, such as ``gr.table3``, in the order of its file.

    Tables with runs follow once more in every other reading, as ``gr.table3:printed``.

    Args:
        fill: what fills the cell of a record.
        special: rules of tables that have one of their own.
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

    def changed(cell: Cell) -> Cell:
        runs = cell.filling
        if not isinstance(runs, Runs):
            return cell
        baseline = None if runs.baseline is None else reading.change(runs.baseline)
        return replace(cell, filling=replace(runs, settings=reading.change(runs.settings), baseline=baseline))

    notes = (f"Read as {name!r}: {reading.words}", *table.notes)
    return replace(table, name=f"{table.name}:{name}", cells=tuple(map(changed, table.cells)), notes=notes)


def _table(paper: str, name: str, rule: Rule) -> Table:
    records, told = printed(paper)[name], about(paper, name)
    cells = [
        Cell(row, column, one.metric, one.value, _filling(one, rule, told.quoted), one.std, one.note)
        for one, (row, column) in zip(records, name_places(records), strict=True)
    ]
    return Table(f"{paper}.{name}", told.title, tuple(cells), told.notes)


def _filling(record: Record, rule: Rule, quoted: Mapping[str, str]) -> Filling:
    """What holds for every paper comes first, then its own rule."""
    if record.kind != "number":
        return Stated(f"a {record.kind} statement" if record.kind == "qualitative" else "a formula")
    if record.metric in STATED:
        return Stated(STATED[record.metric])
    if record.metric == "weight_variance_uniform_p":
        specs = {"CCE": "ce", "MAE": "mae", "IMAE": f"imae(T={record.hyperparameters.get('T')})"}
        return Computed("spread", specs[record.method])
    if source := record.quoted_from or quoted.get(record.method):
        return Quoted(source)
    return unavailable(record) or rule(record)


def unavailable(record: Record) -> Missing | None:
    """The reason why nothing can be run on the dataset of a record."""
    reason = UNAVAILABLE.get(record.dataset)
    return Missing(reason) if reason else None
