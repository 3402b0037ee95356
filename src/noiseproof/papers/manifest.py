"""manifest.json: which runs lie in a folder, what they are runs of, and which cells they fill."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..atomic import explained, write_text
from ..files import DamagedFileError, read_json
from ..train import Config
from ..train.config import NEUTRAL
from ..train.lock import RunLock
from .plan import Changes, Planned

HOME = Path("runs/papers")
"""Where runs go when nobody says: all tables together, so that they share what they have in common."""
NAME = "manifest.json"
PATIENCE = 60.0
"""Seconds to wait for another process, which has the manifest for a moment only."""


class Manifest:
    """The runs of one or more tables in a folder, as read; tables share the runs they have in common."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        self.tables: dict[str, Changes] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        if (self.folder / NAME).is_file():
            self._read()

    def _read(self) -> None:
        path = self.folder / NAME
        try:
            content = read_json(path)
            self.tables = {name: Changes(**found) for name, found in content["tables"].items()}
            self.runs = content["runs"]
            _check(self.runs)
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            reason = problem.reason if isinstance(problem, DamagedFileError) else repr(problem)
            raise ValueError(
                f"{path} is no manifest of tables: {reason}; restore the file, or choose another --out"
            ) from None

    def add(self, table: str, changes: Changes, planned: Mapping[str, Planned]) -> None:
        """Put the runs of a table to those that are there already; other changes only before the first."""
        before = self.tables.get(table, changes)
        if before != changes:
            if self._has_begun(table):
                raise ValueError(
                    f"{self.folder} has runs of {table} with {before.words() or 'the recipe of the paper'},"
                    f" not with {changes.words() or 'that'}: choose another --out"
                )
            self._forget(table)
        self.tables[table] = changes
        for key, run in planned.items():
            known = self.runs.setdefault(key, _entry(run))
            known["cells"] += [list(place) for place in run.cells if list(place) not in known["cells"]]

    def _has_begun(self, table: str) -> bool:
        mine = [run for run in self.runs.values() if any(place[0] == table for place in run["cells"])]
        return any((self.folder / run["folder"]).is_dir() for run in mine)

    def _forget(self, table: str) -> None:
        for run in self.runs.values():
            run["cells"] = [place for place in run["cells"] if place[0] != table]
        self.runs = {key: run for key, run in self.runs.items() if run["cells"]}

    def note_problems(self, planned: Mapping[str, Planned], problems: Mapping[str, str]) -> None:
        """Remember why runs failed, and forget it of those that did not this time."""
        for key in planned:
            self.runs[key].pop("problem", None)
            if key in problems:
                self.runs[key]["problem"] = problems[key]

    def _write(self) -> None:
        tables = {name: dataclasses.asdict(changes) for name, changes in self.tables.items()}
        write_text(self.folder / NAME, json.dumps({"tables": tables, "runs": self.runs}, indent=1) + "\n")

    def of_cell(self, table: str, row: str, column: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a run is to the cell, and the run."""
        for run in self.runs.values():
            for *place, role in run["cells"]:
                if place == [table, row, column]:
                    yield role, run


@contextmanager
def updated(folder: str | Path) -> Iterator[Manifest]:
    """The manifest as it is now, written when the block ends without an error; one process at a time.

    Who keeps it longer would write over what others have added.
    """
    place = Path(folder).expanduser()
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    with RunLock(place, patience=PATIENCE):
        manifest = Manifest(place)
        yield manifest
        manifest._write()


def _entry(run: Planned) -> dict[str, Any]:
    settings = {name: value for name, value in run.config.to_dict().items() if name not in NEUTRAL}
    entry: dict[str, Any] = {"folder": run.folder, "config": settings, "cells": []}
    return entry if run.relabel_of is None else entry | {"relabel_of": run.relabel_of}


def _check(runs: Mapping[str, Any]) -> None:
    """Folders of a manifest lie below it, and its configs can be read."""
    for run in runs.values():
        if Path(run["folder"]).is_absolute() or ".." in Path(run["folder"]).parts:
            raise ValueError(f"the folder {run['folder']!r} lies elsewhere")
        Config.from_dict(run["config"])
        if not isinstance(run.get("problem"), str | None):
            raise ValueError("a problem is not text")
        run["cells"] = [[str(part) for part in place] for place in run["cells"]]
