"""The run folder while it is being written: begin, checkpoints, epochs, the end."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from .. import atomic
from ..dynamics import lines, record
from ..dynamics.run_folder import BEST, CHECKPOINTS, CONFIG, MANIFEST, METRICS, RECORD, RESULT
from . import checkpoint
from .capture import alone
from .config import Config
from .environment import environment
from .interrupt import Interrupted
from .lock import RunLock
from .out import run_folder
from .session import Session
from .task import Task

FORMAT = 1


class RunExistsError(ValueError):
    """The folder holds a finished run, or one of another config."""


class DamagedRunError(RunExistsError):
    """Files of the folder cannot be read."""


class Keeper:
    """Writes a run, one writer per folder, so that whatever happens it can be resumed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.folder = run_folder(config)
        self._lock = RunLock(self.folder)
        self._saved = self._ended = time.monotonic()
        self._unsynced: list[Path] = []

    def __enter__(self) -> Self:
        self._refuse_others()
        self._lock.__enter__()
        try:
            self._refuse_others()
            atomic.sweep(self.folder)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, problem, trace)

    def _refuse_others(self) -> None:
        """A finished run and a run of another config are not touched."""
        if not (self.folder / CONFIG).is_file():
            return
        there = settings_of(self.folder)
        if found := there.differences(self.config):
            raise RunExistsError(
                f"{self.folder} is a run of another config ({'; '.join(found)}): choose another --out, or"
                " the same settings to resume it"
            )
        if (self.folder / RESULT).is_file():
            self._clear()
            raise RunExistsError(
                f"{self.folder} is finished: choose another --out, or remove the folder to run it again"
            )

    def begin(self, task: Task, session: Session) -> None:
        """Write what is known before the first step, or restore where the run stopped."""
        facts = {"format": FORMAT, "data": task.facts(), "noise": task.noise}
        manifest = self.folder / MANIFEST
        if manifest.is_file():
            self._check_data(json.loads(manifest.read_text(encoding="utf-8")), facts)
        (self.folder / RECORD).mkdir(exist_ok=True)
        found = checkpoint.newest(self.folder / CHECKPOINTS) if manifest.is_file() else None
        if found is None:
            train = task.train
            record.save_samples(
                self.folder / RECORD, train.index, train.label, train.clean_label, train.class_names
            )
            facts["environment"] = environment(session.device)
            atomic.write_text(self.folder / CONFIG, self.config.to_json())
            atomic.write_text(manifest, json.dumps(facts, indent=2) + "\n")
        else:
            state = checkpoint.unflatten(found.tensors, found.state["session"])
            session.restore(state)  # type: ignore[arg-type]
        self._forget_after(session.epoch)

    def _check_data(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        now = json.loads(json.dumps(now))
        changed = [name for name in ("data", "noise") if before.get(name) != now[name]]
        if changed:
            raise RunExistsError(
                f"{self.folder} was begun with other {' and '.join(changed)}: the same settings"
                " now give other samples or labels; choose another --out"
            )

    def _forget_after(self, epoch: int) -> None:
        """Drop what epochs wrote that will be done again; what went before must be whole."""
        whole = min(epoch - 1, record.epochs_without_gap(self.folder / RECORD))
        if self.config.record and whole < epoch - 1:
            raise RunExistsError(
                f"{self.folder} has no record of epoch {whole + 1}: go on with --no-record, or anew elsewhere"
            )
        lines.keep(self.folder / METRICS, lambda line: bool(line["epoch"] < epoch))
        (self.folder / RECORD / record.MERGED).unlink(missing_ok=True)
        for file in record.epoch_files(self.folder / RECORD)[whole:]:
            file.unlink()

    def is_time(self) -> bool:
        return time.monotonic() - self._saved >= self.config.checkpoint_seconds

    def save(self, session: Session) -> None:
        """A checkpoint of this moment."""
        atomic.flush([*self._unsynced, self.folder / METRICS])
        self._unsynced.clear()
        with alone:
            tensors, state = checkpoint.flatten(session.state())
        checkpoint.save(
            self.folder / CHECKPOINTS, step=session.step, tensors=tensors, state={"session": state}
        )
        self._saved = time.monotonic()

    def stop(self, session: Session, signal: int) -> None:
        """Save and leave, because somebody asked."""
        self.save(session)
        raise Interrupted(signal, self.folder, epoch=session.epoch, step=session.step)

    def end_epoch(self, session: Session, line: dict[str, Any]) -> None:
        """Write record and metrics of the epoch, keep the network if validation likes it best so far."""
        if self.config.record:
            columns = session.recorder.epoch()
            self._unsynced.append(record.save_epoch(self.folder / RECORD, session.epoch, columns))
        now = time.monotonic()
        line["seconds"] = round(now - self._ended, 3)
        self._ended = now
        lines.append(self.folder / METRICS, line)
        accuracy = line.get("validation_accuracy")
        if accuracy is not None and (session.best is None or accuracy > session.best["validation_accuracy"]):
            session.best = {
                name: line.get(name) for name in ("epoch", "validation_accuracy", "test_accuracy")
            }
            atomic.write_tensors(self.folder / BEST, session.model.state_dict())

    def has_waited_enough(self, session: Session) -> bool:
        """Whether patience with the validation accuracy has run out, at an epoch that was evaluated."""
        done = session.epoch - 1
        if self.config.patience is None or session.best is None or done % self.config.evaluate_every:
            return False
        return done - int(session.best["epoch"]) >= self.config.patience

    def lines(self) -> list[dict[str, Any]]:
        return lines.read(self.folder / METRICS)

    def close(self, session: Session, result: dict[str, Any]) -> None:
        """The result, then tidy up what only an unfinished run needs."""
        record.merge(self.folder / RECORD)
        atomic.write_text(self.folder / RESULT, json.dumps(result, indent=2) + "\n")
        self._clear()

    def _clear(self) -> None:
        for file in record.epoch_files(self.folder / RECORD):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.folder / CHECKPOINTS, ignore_errors=True)


def settings_of(folder: Path) -> Config:
    """The config a run was begun with."""
    try:
        return Config.load(folder / CONFIG)
    except (ValueError, TypeError) as problem:
        raise DamagedRunError(
            f"{folder / CONFIG} is damaged ({problem}): remove the folder to train it again, or choose"
            " another --out"
        ) from None
