"""Resuming a run: read its folder, or raise if it is damaged or belongs to another run."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from .. import __version__, methods
from ..dynamics.checks import check_manifest
from ..dynamics.json_lines import MAX_BYTES
from ..dynamics.run_folder import CHECKPOINTS, CONFIG, MANIFEST
from ..files import DamagedFileError, read_bytes, read_json
from . import checkpoint
from .config import Config
from .session import Session
from .task import Task, in_format_of, make_task

MAX_SHOWN = 8
REMEDY = "restore the file, remove the folder to train it again, or choose another --out"
DATA_SETTINGS = (
    *("data", "test", "noise", "noise_seed", "exact_noise"),
    *("seed", "validation", "validation_data", "validation_labels"),
)
"""Settings that determine samples and labels."""


class RunExistsError(ValueError):
    """The folder holds a finished run, or a run of another config."""


class DamagedRunError(RunExistsError):
    """Files of the folder are damaged or missing."""


def config_of(folder: Path) -> Config:
    """The config a run was started with."""
    try:
        return Config.load(folder / CONFIG)
    except (ValueError, TypeError) as problem:
        reason = problem.reason if isinstance(problem, DamagedFileError) else problem
        raise DamagedRunError(f"{folder / CONFIG} is damaged ({reason}): {REMEDY}") from None


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """The manifest a run was started with; None if there is nothing to resume."""
    path = folder / MANIFEST
    if checkpoint.exists(folder / CHECKPOINTS):
        for needed in (folder / CONFIG, path):
            if not needed.is_file():
                raise DamagedRunError(f"{needed} is missing, but the run has checkpoints: {REMEDY}")
    if not path.is_file():
        return None
    try:
        found = read_json(path)
        check_manifest(path, found)
    except DamagedFileError as problem:
        raise DamagedRunError(f"{path} is damaged ({problem.reason}): {REMEDY}") from None
    except ValueError as problem:
        raise RunExistsError(f"{problem}, or choose another --out") from None
    return found


def check_data(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise RunExistsError if samples or labels differ from those the run was started with."""
    now, recorded = json.loads(json.dumps(now)), before.get("data")
    if isinstance(recorded, dict):
        now["data"] = {name: in_format_of(fact, recorded.get(name)) for name, fact in now["data"].items()}
    changed = [name for name in ("data", "noise") if before.get(name) != now[name]]
    if changed:
        raise RunExistsError(
            f"{folder} was started with other {' and '.join(changed)}: the same settings now"
            " give other samples or labels; remove the folder to start again, or choose another --out"
        )


def check_loss(folder: Path, before: dict[str, Any], config: Config) -> None:
    """Raise RunExistsError if version 0.1.0, which did not normalise gr and imae, wrote a run with them."""
    if "loss" in before or "normalize" in config.loss:
        return
    if 'normalize="batch"' in str(methods.get(config.method, loss=config.loss)):
        raise RunExistsError(
            f"{folder} was written by a version in which {config.loss!r} was not normalised over the batch:"
            ' choose another --out, with normalize="none" in the loss for the old meaning'
        )


def check_finished(folder: Path, config: Config, task: Task | None = None) -> None:
    """Raise RunExistsError if the loss of a finished run has changed, or its data differs from ``task``."""
    before = manifest_of(folder)
    if before is not None:
        check_loss(folder, before, config)
        if task is not None:
            check_data(folder, before, {"data": task.facts(), "noise": task.noise})


def check_all_finished(runs: list[tuple[Config, Path]]) -> None:
    """``check_finished`` for several runs; data is checked only for runs with the data of the first run."""
    for config, folder in runs:
        check_finished(folder, config)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # training has warned already
            task = make_task(runs[0][0]) if runs else None
    except (OSError, ValueError, TypeError, ImportError):
        return  # without the data the results remain valid
    for config, folder in runs:
        if all(getattr(config, name) == getattr(runs[0][0], name) for name in DATA_SETTINGS):
            check_finished(folder, config, task)


def warn_of_versions(folder: Path, before: dict[str, Any]) -> None:
    """Warn if the run was started with other versions, since results may not be bit-identical."""
    written, now = before.get("environment") or {}, {"noiseproof": __version__, "torch": torch.__version__}
    changed = [
        f"{name} {written[name]} (now {version})"
        for name, version in now.items()
        if name in written and written[name] != version
    ]
    if changed:
        warnings.warn(
            f"{folder} was started with {' and '.join(changed)}: it is resumed, but the result may differ"
            " from that of an uninterrupted run",
            stacklevel=2,
        )


def restore(session: Session, found: checkpoint.Checkpoint, folder: Path) -> None:
    """Restore the session from a checkpoint; raise DamagedRunError if it does not fit the config."""
    try:
        session.restore(found.state)
        place = (session.epoch, session.batch, session.step)
        if not all(type(number) is int and number >= 0 for number in place) or session.epoch < 1:
            raise ValueError(f"its epoch, batch and step are {place}")
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError, RecursionError) as problem:
        reason = next(iter(str(problem).splitlines()), type(problem).__name__)
        raise DamagedRunError(
            f"{folder}: the newest checkpoint does not fit the run ({reason}): {REMEDY}"
        ) from None


def check_metrics(path: Path, finished: int) -> None:
    """Raise DamagedRunError unless each finished epoch has one complete line, in order."""
    lines = read_bytes(path, MAX_BYTES).split(b"\n") if path.is_file() else []
    expected = range(1, finished + 1)
    found = [epoch for epoch in map(_epoch, lines) if epoch in expected]
    if found == list(expected):
        return
    missing = [str(epoch) for epoch in expected if epoch not in set(found)]
    shown = ", ".join(missing[:MAX_SHOWN]) + (", ..." if len(missing) > MAX_SHOWN else "")
    words = f"no complete line for epoch {shown}"
    raise DamagedRunError(
        f"{path} has {words if missing else 'repeated or unordered epochs'}, but the run has finished"
        f" {finished}: {REMEDY}"
    )


def _epoch(line: bytes) -> int:
    """The epoch of a line of metrics; 0 if the line is incomplete or invalid."""
    try:
        epoch = json.loads(line)["epoch"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return 0
    return epoch if type(epoch) is int else 0
