"""The runs of a table: configs by their hash, and the cells each of them serves."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..train import Config
from ..train.config import NEUTRAL
from ..train.out import run_folder
from .filling import Runs, Settings
from .shorten import shortened
from .table import Table

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

    def apply(self, settings: Settings) -> dict[str, Any]:
        found = dict(settings) if self.epochs is None else shortened(settings, self.epochs)
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


def config_hash(config: Config) -> str:
    """12 hexadecimal digits of the settings that decide what is learned and are not the default.

    A setting that a later version adds, with a default that changes nothing, leaves it as it is.

    Example:
        >>> config_hash(Config(device="cpu")) == config_hash(Config(out="a", seed=0))
        True
        >>> config_hash(Config(seed=1)) == config_hash(Config())
        False
    """
    default = Config().to_dict()
    told = {k: v for k, v in config.to_dict().items() if k not in NEUTRAL and v != default[k]}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


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
