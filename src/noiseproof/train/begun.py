"""What an earlier process left of a run: read again, or refused where it is not whole."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from .. import __version__, methods
from ..dynamics.checks import check_manifest
from ..dynamics.lines import MOST
from ..dynamics.run_folder import CHECKPOINTS, CONFIG, MANIFEST
from ..files import DamagedFileError, read_bytes, read_json
from .checkpoint import Checkpoint, unflatten
from .config import Config
from .fingerprint import as_noted
from .session import Session

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
        reason = problem.reason if isinstance(problem, DamagedFileError) else problem
        raise DamagedRunError(f"{folder / CONFIG} is damaged ({reason}): {ADVICE}") from None


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
        found = read_json(path)
        check_manifest(path, found)
    except DamagedFileError as problem:
        raise DamagedRunError(f"{path} is damaged ({problem.reason}): {ADVICE}") from None
    except ValueError as problem:
        raise RunExistsError(f"{problem}, or choose another --out") from None
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
            " now give other samples or labels; remove the folder to begin again, or choose another --out"
        )


def check_loss(folder: Path, before: dict[str, Any], config: Config) -> None:
    """Whether the loss means what it did: versions that noted none did not normalise gr and imae."""
    if "loss" in before or "normalize" in config.loss:
        return
    if 'normalize="batch"' in str(methods.get(config.method, loss=config.loss)):
        raise RunExistsError(
            f"{folder} is of a version in which {config.loss!r} was not normalised over the batch: choose"
            ' another --out, with normalize="none" in the loss for the old meaning'
        )


def warn_of_versions(folder: Path, before: dict[str, Any]) -> None:
    """Other versions compute other bits: name those that differ from what the run was begun with."""
    written, now = before.get("environment") or {}, {"noiseproof": __version__, "torch": torch.__version__}
    changed = [
        f"{name} {written[name]} (now {version})"
        for name, version in now.items()
        if name in written and written[name] != version
    ]
    if changed:
        warnings.warn(
            f"{folder} was begun with {' and '.join(changed)}: it goes on, but the result may differ from"
            " that of a run without an interruption",
            stacklevel=2,
        )


def restore(session: Session, found: Checkpoint, folder: Path) -> None:
    """Put the session where the checkpoint was; DamagedRunError if that is not one of its settings."""
    try:
        session.restore(unflatten(found.tensors, found.state["session"]))
        place = (session.epoch, session.batch, session.step)
        if not all(type(number) is int and number >= 0 for number in place) or session.epoch < 1:
            raise ValueError(f"it is of epoch, batch and step {place}")
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError, RecursionError) as problem:
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise DamagedRunError(
            f"{folder}: the newest checkpoint does not fit the run ({reason}): {ADVICE}"
        ) from None


def check_metrics(path: Path, finished: int) -> None:
    """Whether every finished epoch has one whole line, in order: the result is made of these lines."""
    lines = read_bytes(path, MOST).split(b"\n") if path.is_file() else []
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
