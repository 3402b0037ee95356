"""The runs of a table: configs by their hash, the cells each of them serves, and recipes cut short."""

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
from ..train import Config
from ..train.config import NEUTRAL, run_folder
from ..train.optimizer import SCHEDULES
from .cells import Runs, Settings, Table

HOME = Path("runs/papers")
"""Where runs go by default: all tables together, so that they share the runs they have in common."""
RUNS = "runs"
OWN, BASELINE, FIRST, RELABELLED = "run", "baseline", "first", "relabelled"
"""What a run is to a cell."""
AGAIN = "-relabelled"
"""Ends the name of the second run of a pair."""


@dataclass(frozen=True)
class Changes:
    """What is not as in the paper, for all runs of a table."""

    epochs: int | None = None
    precision: str | None = None
    samples: int | None = None
    """Of training, validation and test data, so many each."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Changes:
        """Those that lead to a run with these settings, if its recipe is another.

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
    def cut(self) -> bool:
        """Whether the run is shorter than that of the paper."""
        return self.epochs is not None or self.samples is not None

    def apply(self, settings: Settings) -> dict[str, Any]:
        found = dict(settings) if self.epochs is None else shortened(settings, self.epochs)
        for name in ("data", "test", "validation_data") if self.samples is not None else ():
            if found.get(name) not in (None, "none"):
                source, options = parse_source(found[name])
                found[name] = written(source, {**options, "samples": self.samples})
        return found if self.precision is None else found | {"precision": self.precision}

    def words(self) -> str:
        """Such as ``epochs=5``; empty if all is as in the paper."""
        told = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return ", ".join(f"{name}={value}" for name, value in told.items())


@dataclass
class Planned:
    """A run and its places: (table, row, column, what it is to that cell)."""

    config: Config
    folder: str
    """Below the folder of the tables."""
    cells: list[tuple[str, str, str, str]] = field(default_factory=list)
    relabel_of: str | None = None
    """Hash of the run whose predictions are the labels of this one."""


_DEFAULTS = Config().to_dict()


def config_hash(config: Config) -> str:
    """12 hexadecimal digits of the settings that decide what is learned and are not the default.

    A setting that a later version adds, with a default that changes nothing, leaves it as it is.

    Example:
        >>> config_hash(Config(device="cpu")) == config_hash(Config(out="a", seed=0))
        True
        >>> config_hash(Config(seed=1)) == config_hash(Config())
        False
    """
    told = {k: v for k, v in config.to_dict().items() if k not in NEUTRAL and v != _DEFAULTS[k]}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def key_of(folder: str) -> str | None:
    """The key of a run, which ends the name of its folder.

    Example:
        >>> key_of("cifar10-ce-seed0-55957e205b6d"), key_of("mine")
        ('55957e205b6d', None)
    """
    found = re.search(rf"-([0-9a-f]{{12}}(?:{AGAIN})?)$", folder)
    return found and found[1]


def plan(table: Table, changes: Changes = Changes()) -> dict[str, Planned]:
    """Every run the runnable cells need, once, by hash; a run on corrected labels comes after its first."""
    found: dict[str, Planned] = {}
    for cell in table.cells:
        if not isinstance(cell.filling, Runs):
            continue
        for key, planned, role in _runs_of(cell.filling, changes):
            found.setdefault(key, planned).cells.append((table.name, cell.row, cell.column, role))
    return dict(sorted(found.items(), key=lambda item: item[1].relabel_of is not None))


def _runs_of(filling: Runs, changes: Changes) -> Iterator[tuple[str, Planned, str]]:
    groups: Mapping[str, Settings | None] = {OWN: filling.settings, BASELINE: filling.baseline}
    for role, settings in groups.items():
        if settings is None:
            continue
        for seed in filling.seeds:
            key, config, place = _named(json.dumps(changes.apply(settings), sort_keys=True), seed)
            if not filling.relabel:
                yield key, Planned(config, place), role
                continue
            yield key, Planned(config, place), FIRST
            yield key + AGAIN, Planned(config, place + AGAIN, relabel_of=key), RELABELLED


@cache
def _named(settings: str, seed: int) -> tuple[str, Config, str]:
    """Hash, config and folder; cached, as many cells share a run and a config is checked when it is made."""
    config = Config(**json.loads(settings), seed=seed)
    key, name = config_hash(config), run_folder(config).name.rpartition("-")[0]
    return key, config, f"{RUNS}/{name}-{key}"


def with_folder(planned: Planned, out: Path) -> Config:
    return planned.config.replace(out=(out / planned.folder).as_posix())


SAMPLES = {"mnist": 60_000, "cifar10": 50_000, "cifar100": 50_000, "cifar_n": 50_000, "vehicles10": 5_000}
SAMPLES |= {"clothing1m": 1_000_000, "mars": 509_914}
"""Training samples, to turn iterations into epochs."""
TIMES = ("period", "warmup")


def shortened(settings: Settings, epochs: int) -> dict[str, Any]:
    """The settings with so many epochs; milestones and periods of the schedule move along.

    Example:
        >>> settings = {"data": "cifar10", "epochs": 120, "schedule": 'step(milestones="40,80")'}
        >>> shortened(settings, 12)
        {'data': 'cifar10', 'schedule': "step(milestones='4,8')", 'epochs': 12}
    """
    if epochs < 1:
        raise ValueError(f"epochs={epochs} must be at least 1")
    left = {name: value for name, value in settings.items() if name not in ("epochs", "iterations")}
    factor = epochs / recipe_epochs(settings)
    if "schedule" in left:
        left["schedule"] = scaled(left["schedule"], factor)
    return left | {"epochs": epochs}


def recipe_epochs(settings: Settings) -> float:
    """Epochs of a recipe that is given in epochs or in iterations.

    Example:
        >>> recipe_epochs({"data": "cifar10", "iterations": 39_100, "batch_size": 128})
        100.0
    """
    if settings.get("iterations") is None:
        return float(settings["epochs"])
    name, _ = parse_source(settings["data"])
    if name not in SAMPLES:
        raise ValueError(f"cannot turn iterations into epochs: the size of {name} is not known")
    return float(settings["iterations"] / -(-SAMPLES[name] // settings["batch_size"]))


@cache
def scaled(schedule: str, factor: float) -> str:
    """A schedule whose times are multiplied, each at least 1.

    Example:
        >>> scaled('every(period=5000, by="iteration")', 0.01)
        "every(period=50, by='iteration')"
    """
    known = {name: inspect.signature(made).parameters for name, made in SCHEDULES.items()}
    name, options = call(schedule, "schedule", known)
    for word, value in options.items():
        if word in TIMES and value:
            options[word] = max(1, round(float(value) * factor))
        elif word == "milestones":
            times = [max(1, round(int(time) * factor)) for time in str(value).split(",")]
            options[word] = ",".join(map(str, times))
    return written(name, options)
