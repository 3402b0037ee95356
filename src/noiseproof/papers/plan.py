"""The runs of a table: configs by their hash, the cells that use each run, and shortened recipes."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..data.registry import parse_source
from ..grammar import call, written
from ..methods.registry import METHODS
from ..train import Config
from ..train.config import NEUTRAL, run_folder
from ..train.optimizer import SCHEDULES
from .cells import Runs, Settings, Table

HOME = Path("runs/papers")
"""The default folder of runs, one for all tables, so that tables share common runs."""
RUNS = "runs"
OWN, BASELINE, FIRST, RELABELLED = "run", "baseline", "first", "relabelled"
"""The roles of a run for a cell."""
SUFFIX = "-relabelled"
"""End of the key and folder of a second run, which is trained on the labels predicted by the first."""


@dataclass(frozen=True)
class Changes:
    """Settings that differ from the paper, for all runs of a table."""

    epochs: int | None = None
    precision: str | None = None
    samples: int | None = None
    """Number of samples of training, validation and test data each."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Changes:
        """The changes of a run with these settings, if its recipe is that of the paper otherwise.

        Example:
            >>> Changes.of({"data": "clothing1m(samples=300)", "epochs": "1", "precision": "fp32"}).words()
            'epochs=1, samples=300'
        """
        samples = parse_source(settings["data"])[1].get("samples")
        precision = None if settings["precision"] == "fp32" else settings["precision"]
        return cls(
            int(settings["epochs"] or 0) or None, precision, samples if isinstance(samples, int) else None
        )

    @property
    def is_shorter(self) -> bool:
        """Whether the run has fewer epochs or samples than that of the paper."""
        return self.epochs is not None or self.samples is not None

    def apply(self, settings: Settings) -> dict[str, Any]:
        found = dict(settings) if self.epochs is None else shortened(settings, self.epochs)
        for name in ("data", "test", "validation_data") if self.samples is not None else ():
            if found.get(name) not in (None, "none"):
                source, options = parse_source(found[name])
                found[name] = written(source, {**options, "samples": self.samples})
        return found if self.precision is None else found | {"precision": self.precision}

    def words(self) -> str:
        """The changes as text, such as ``epochs=5``; empty without changes."""
        changed = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return ", ".join(f"{name}={value}" for name, value in changed.items())


@dataclass
class PlannedRun:
    """A run and the cells that use it, as (table, row, column, role)."""

    config: Config
    folder: str
    """Folder of the run, relative to the folder of all runs."""
    cells: list[tuple[str, str, str, str]] = field(default_factory=list)
    relabel_of: str | None = None
    """Hash of the run whose predictions are the labels of this one."""


_DEFAULTS = Config().to_dict()


def config_hash(config: Config) -> str:
    """A hash (12 hexadecimal digits) of the settings that change what is learned and are not the default.

    It does not change if a later version adds a setting whose default has no effect.

    Example:
        >>> config_hash(Config(device="cpu")) == config_hash(Config(out="a", seed=0))
        True
        >>> config_hash(Config(seed=1)) == config_hash(Config())
        False
    """
    settings = {k: v for k, v in config.to_dict().items() if k not in NEUTRAL and v != _DEFAULTS[k]}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def run_key(folder: str) -> str | None:
    """The key of a run, at the end of the name of its folder; None if there is none.

    Example:
        >>> run_key("cifar10-ce-seed0-55957e205b6d"), run_key("mine")
        ('55957e205b6d', None)
    """
    found = re.search(rf"-([0-9a-f]{{12}}(?:{SUFFIX})?)$", folder)
    return found and found[1]


def plan(table: Table, changes: Changes = Changes()) -> dict[str, PlannedRun]:
    """All runs that the cells need, by key; runs on predicted labels come after all others."""
    found: dict[str, PlannedRun] = {}
    for cell in table.cells:
        if not isinstance(cell.filling, Runs):
            continue
        for key, planned, role in _runs_of(cell.filling, changes):
            found.setdefault(key, planned).cells.append((table.name, cell.row, cell.column, role))
    return dict(sorted(found.items(), key=lambda item: item[1].relabel_of is not None))


def _runs_of(filling: Runs, changes: Changes) -> Iterator[tuple[str, PlannedRun, str]]:
    groups: Mapping[str, Settings | None] = {OWN: filling.settings, BASELINE: filling.baseline}
    for role, settings in groups.items():
        if settings is None:
            continue
        for seed in filling.seeds:
            key, config, place = _run_of(json.dumps(changes.apply(settings), sort_keys=True), seed)
            if not filling.relabel:
                yield key, PlannedRun(config, place), role
                continue
            yield key, PlannedRun(config, place), FIRST
            yield key + SUFFIX, PlannedRun(config, place + SUFFIX, relabel_of=key), RELABELLED


@cache
def _run_of(settings: str, seed: int) -> tuple[str, Config, str]:
    """Key, config and folder of a run; cached, since many cells share a run."""
    config = Config(**json.loads(settings), seed=seed)
    key, name = config_hash(config), run_folder(config).name.rpartition("-")[0]
    return key, config, f"{RUNS}/{name}-{key}"


def with_folder(planned: PlannedRun, out: Path) -> Config:
    """The config of a run, with its folder below ``out``."""
    return planned.config.replace(out=(out / planned.folder).as_posix())


SAMPLES = {"mnist": 60_000, "cifar10": 50_000, "cifar100": 50_000, "cifar_n": 50_000, "vehicles10": 5_000}
SAMPLES |= {"clothing1m": 1_000_000, "mars": 509_914}
"""Number of training samples, to convert iterations into epochs."""
TIMES, RATES = ("period", "warmup", "start"), {"schedule": "decay", "method": "growth"}
"""Options of schedules and methods that are times, and those that are changes per epoch."""


def shortened(settings: Settings, epochs: int) -> dict[str, Any]:
    """The settings with this number of epochs; times of the schedule and of the method in proportion.

    Example:
        >>> settings = {"data": "cifar10", "epochs": 120, "schedule": 'step(milestones="40,80")'}
        >>> shortened(settings, 12)
        {'data': 'cifar10', 'schedule': "step(milestones='4,8')", 'epochs': 12}
    """
    if epochs < 1:
        raise ValueError(f"epochs={epochs} must be at least 1")
    left = {name: value for name, value in settings.items() if name not in ("epochs", "iterations")}
    factor = epochs / recipe_epochs(settings)
    changed = {what: scaled(left[what], factor, what) for what in RATES if left.get(what)}
    return left | changed | {"epochs": epochs}


def recipe_epochs(settings: Settings) -> float:
    """The number of epochs of a recipe given in epochs or iterations.

    Example:
        >>> recipe_epochs({"data": "cifar10", "iterations": 39_100, "batch_size": 128})
        100.0
    """
    if settings.get("iterations") is None:
        return float(settings["epochs"])
    name, _ = parse_source(settings["data"])
    if name not in SAMPLES:
        raise ValueError(f"cannot convert iterations into epochs: the size of {name} is unknown")
    return float(settings["iterations"] / -(-SAMPLES[name] // settings["batch_size"]))


@cache
def scaled(text: str, factor: float, what: str = "schedule") -> str:
    """The schedule or method with all times multiplied by ``factor``, each at least 1."""
    made = SCHEDULES if what == "schedule" else METHODS
    known = {one: inspect.signature(made[one]).parameters for one in made}
    name, options = call(text, what, known)
    usual = {word: known[name][word].default for word in TIMES if word in known[name]}
    options |= {word: value for word, value in usual.items() if value and word not in options}
    for word, value in options.items():
        if word in TIMES and value:
            options[word] = max(1, round(float(value) * factor))
        elif word == "milestones":
            times = [max(1, round(int(time) * factor)) for time in str(value).split(",")]
            options[word] = ",".join(map(str, times))
        elif word == RATES[what] and value:
            options[word] = float(value) / factor
    return written(name, options)
