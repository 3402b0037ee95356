"""From printed records and the rules of a paper to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .filling import Computed, Filling, Missing, Quoted, Stated
from .naming import name_places
from .record import Record, printed
from .table import Cell, Table

Rule = Callable[[Record], Filling]


class Plan(NamedTuple):
    """A table before its numbers: what it shows, how cells are filled, what must be said."""

    title: str
    fill: Rule
    notes: tuple[str, ...] = ()


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


def make_tables(paper: str, plans: Mapping[str, Plan]) -> dict[str, Table]:
    """The tables of a paper by full name, such as ``gr.table3``, in the order of the plans."""
    records = printed(paper)
    if missing := set(records) ^ set(plans):
        raise ValueError(f"{paper}: records and plans differ in {', '.join(sorted(missing))}")
    return {f"{paper}.{name}": _table(f"{paper}.{name}", plan, records[name]) for name, plan in plans.items()}


def _table(name: str, plan: Plan, records: tuple[Record, ...]) -> Table:
    cells = [
        Cell(row, column, record.metric, record.value, _filling(record, plan.fill), record.std, record.note)
        for record, (row, column) in zip(records, name_places(records), strict=True)
    ]
    return Table(name, plan.title, tuple(cells), plan.notes)


def _filling(record: Record, fill: Rule) -> Filling:
    """What holds for every paper comes first, then its own rule."""
    if record.kind != "number":
        return Stated(f"a {record.kind} statement" if record.kind == "qualitative" else "a formula")
    if record.metric in STATED:
        return Stated(STATED[record.metric])
    if record.metric == "weight_variance_uniform_p":
        specs = {"CCE": "ce", "MAE": "mae", "IMAE": f"imae(T={record.hyperparameters.get('T')})"}
        return Computed("spread", specs[record.method])
    if record.quoted_from:
        return Quoted(record.quoted_from)
    return fill(record)


def unavailable(record: Record) -> Missing | None:
    """The reason why nothing can be run on the dataset of a record."""
    reason = UNAVAILABLE.get(record.dataset)
    return Missing(reason) if reason else None
