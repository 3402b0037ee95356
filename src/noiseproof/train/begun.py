"""What an earlier process left of a run: read again, or refused where it is not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..dynamics.run_folder import CHECKPOINTS, CONFIG, MANIFEST
from .config import Config
from .fingerprint import as_noted

SHOWN = 8
ADVICE = "restore the file, remove the folder to train it again, or choose another --out"


class RunExistsError(ValueError):
    """The folder holds a finished run, or one of another config."""


class DamagedRunError(RunExistsError):
    """Files of the folder cannot be read, or are not there."""


def settings_of(folder: Path) -> Config:
    """The config a run was begun with."""
    try:
        return Config.load(folder / CONFIG)
    except (ValueError, TypeError) as problem:
        raise DamagedRunError(f"{folder / CONFIG} is damaged ({problem}): {ADVICE}") from None


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """What the data of a run was when it was begun; None if there is nothing to resume."""
    path = folder / MANIFEST
    if any((folder / CHECKPOINTS).glob("*.json")):
        for needed in (folder / CONFIG, path):
            if not needed.is_file():
                raise DamagedRunError(f"{needed} is missing, though the run has checkpoints: {ADVICE}")
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise DamagedRunError(f"{path} is damaged ({problem}): {ADVICE}") from None
    if not isinstance(found, dict):
        raise DamagedRunError(f"{path} is damaged (it holds no JSON object): {ADVICE}")
    return found


def check_data(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Whether the samples and labels are those the run was begun with."""
    now, noted = json.loads(json.dumps(now)), before.get("data")
    if isinstance(noted, dict):
        now["data"] = {name: as_noted(fact, noted.get(name)) for name, fact in now["data"].items()}
    changed = [name for name in ("data", "noise") if before.get(name) != now[name]]
    if changed:
        raise RunExistsError(
            f"{folder} was begun with other {' and '.join(changed)}: the same settings"
            " now give other samples or labels; choose another --out"
        )


def check_metrics(path: Path, finished: int) -> None:
    """Whether every finished epoch has one whole line, in order: the result is made of these lines."""
    lines = path.read_bytes().split(b"\n") if path.is_file() else []
    wanted = range(1, finished + 1)
    found = [epoch for epoch in map(_epoch, lines) if epoch in wanted]
    if found == list(wanted):
        return
    missing = [str(epoch) for epoch in wanted if epoch not in set(found)]
    words = f"no whole line of epoch {', '.join(missing[:SHOWN])}{', ...' if len(missing) > SHOWN else ''}"
    raise DamagedRunError(
        f"{path} has {words if missing else 'epochs twice or in another order'}, though the run has done"
        f" {finished}: {ADVICE}"
    )


def _epoch(line: bytes) -> int:
    """The epoch of a line, 0 if it is cut or none of ours."""
    try:
        epoch = json.loads(line)["epoch"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return 0
    return epoch if type(epoch) is int else 0
