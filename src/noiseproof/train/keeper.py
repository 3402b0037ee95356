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
from ..dynamics.checks import FORMAT
from ..dynamics.run_folder import BEST, CHECKPOINTS, CONFIG, MANIFEST, METRICS, RECORD, RESULT
from ..features.store import save_features
from . import checkpoint
from .begun import (
    RunExistsError,
    check_data,
    check_metrics,
    manifest_of,
    restore,
    settings_of,
    warn_of_versions,
)
from .capture import alone
from .config import Config
from .environment import environment
from .interrupt import Interrupted
from .lock import RunLock
from .out import run_folder
from .session import Session
from .task import Task
from .tensorboard import FOLDER as TENSORBOARD


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
        """A finished run, a damaged one, one of another config and what links point to are not touched."""
        for name in (RECORD, CHECKPOINTS, TENSORBOARD):
            atomic.refuse_link(self.folder / name)
        if (self.folder / CONFIG).is_file():
            if found := settings_of(self.folder).differences(self.config):
                raise RunExistsError(
                    f"{self.folder} is a run of another config ({'; '.join(found)}): choose another --out, or"
                    " the same settings to resume it"
                )
            if (self.folder / RESULT).is_file():
                self._clear()
                raise RunExistsError(
                    f"{self.folder} is finished: choose another --out, or remove the folder to run it again"
                )
        manifest_of(self.folder)

    def begin(self, task: Task, session: Session) -> None:
        """Write what is known before the first step, or restore where the run stopped."""
        facts = {"format": FORMAT, "data": task.facts(), "noise": task.noise}
        before = manifest_of(self.folder)
        found = None if before is None else checkpoint.newest(self.folder / CHECKPOINTS)
        if found is not None and before is not None:
            check_data(self.folder, before, facts)
            warn_of_versions(self.folder, before)
            restore(session, found, self.folder / CHECKPOINTS)
        self._forget_after(session.epoch)
        train = task.train
        atomic.make_folder(self.folder / RECORD)
        record.save_samples(
            self.folder / RECORD, train.index, train.label, train.clean_label, train.class_names
        )
        if found is None:
            facts["environment"] = environment(session.device)
            atomic.write_text(self.folder / CONFIG, self.config.to_json())
            if task.features is not None:
                save_features(self.folder, task.features)
            atomic.write_text(self.folder / MANIFEST, json.dumps(facts, indent=2) + "\n")

    def _forget_after(self, epoch: int) -> None:
        """Drop what epochs wrote that will be done again; what went before must be whole."""
        whole = min(epoch - 1, record.epochs_without_gap(self.folder / RECORD))
        if self.config.record and whole < epoch - 1:
            raise RunExistsError(
                f"{self.folder} has no whole record of epoch {whole + 1}: go on with --no-record, or anew"
                " elsewhere"
            )
        check_metrics(self.folder / METRICS, epoch - 1)
        lines.keep(self.folder / METRICS, lambda line: line.get("epoch") in range(1, epoch))
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
            atomic.write_tensors(self.folder / BEST, session.model.state_dict(), checked=True)

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
