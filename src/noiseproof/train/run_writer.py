"""Writing a run folder: manifest, checkpoints, epochs, and the results at the end."""

from __future__ import annotations

import json
import platform
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from .. import __version__, atomic
from ..data import LabelledData
from ..devices.capture import capture_lock
from ..devices.distributed import Ranks
from ..dynamics import json_lines, record, subset_accuracies
from ..dynamics.checks import FORMAT
from ..dynamics.run_folder import BEST, CHECKPOINTS, CONFIG, MANIFEST, METRICS, MODEL, OUTPUTS, RECORD, RESULT
from ..features.store import save_features
from ..lock import RunLock
from ..processes import Interrupted
from . import checkpoint
from .advice import warn_of_no_learning
from .config import Config, run_folder
from .evaluate import logits_of, predict_features
from .resume import (
    RunExistsError,
    check_data,
    check_loss,
    check_metrics,
    config_of,
    manifest_of,
    restore,
    warn_of_versions,
)
from .session import Session
from .task import Task

TENSORBOARD = "tensorboard"
MAX_VALUES = 1 << 27
"""Largest number of values of an output that is stored."""
MAX_FEATURES = 1000
"""Number of test samples whose features are stored for figures."""


class RunWriter:
    """Writes a run folder such that the run can be resumed after any interruption.

    A context manager that holds the lock of the folder. Of several processes that train a run, only the first
    writes.
    """

    def __init__(self, config: Config, ranks: Ranks) -> None:
        self.config, self.writes = config, ranks.is_first
        self.folder = run_folder(config)
        self._lock = RunLock(self.folder)
        self._saved = self._ended = time.monotonic()
        self._unsynced: list[Path] = []

    def __enter__(self) -> Self:
        if not self.writes:
            return self
        self._check_folder()
        self._lock.__enter__()
        try:
            self._check_folder()
            atomic.remove_temporary_files(self.folder)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writes:
            self._lock.__exit__(kind, problem, trace)

    def _check_folder(self) -> None:
        """Raise if the folder must not be changed: a finished or damaged run, another config, or links."""
        for name in (RECORD, CHECKPOINTS, TENSORBOARD):
            atomic.refuse_link(self.folder / name)
        if (self.folder / CONFIG).is_file():
            if found := config_of(self.folder).differences(self.config):
                raise RunExistsError(
                    f"{self.folder} is a run of another config ({'; '.join(found)}): choose another --out, or"
                    " use the same settings to resume it"
                )
            if (self.folder / RESULT).is_file():
                self._clear()
                raise RunExistsError(
                    f"{self.folder} is finished: choose another --out, or remove the folder to run it again"
                    f" (its results: noiseproof.train.Run({self.folder.as_posix()!r}))"
                )
        manifest_of(self.folder)

    def begin(self, task: Task, session: Session) -> None:
        """Write config and manifest of a new run, or restore the session of an interrupted one."""
        facts = {"format": FORMAT, "data": task.facts(), "noise": task.noise, "loss": str(session.method)}
        before = manifest_of(self.folder)
        found = None if before is None else checkpoint.newest(self.folder / CHECKPOINTS)
        if found is not None and before is not None:
            check_data(self.folder, before, facts)
            check_loss(self.folder, before, self.config)
            warn_of_versions(self.folder, before)
            restore(session, found, self.folder / CHECKPOINTS)
        session.ranks.check_same(
            {
                "other settings": self.config.digest(),
                "other data": json.dumps(facts),
                "another checkpoint": str(session.step),
            }
        )
        if not self.writes:
            return
        self._remove_epochs_from(session.epoch)
        train = task.train
        atomic.make_folder(self.folder / RECORD)
        record.save_samples(
            self.folder / RECORD, train.index, train.label, train.clean_label, train.class_names
        )
        if found is None:
            facts["environment"] = environment(session.device)
            atomic.write_text(self.folder / CONFIG, session.config.to_json())
            if task.features is not None:
                save_features(self.folder, task.features)
            atomic.write_text(self.folder / MANIFEST, json.dumps(facts, indent=2) + "\n")

    def _remove_epochs_from(self, epoch: int) -> None:
        """Remove the files of this and later epochs, which run again; earlier epochs must be complete."""
        complete = min(epoch - 1, record.epochs_without_gap(self.folder / RECORD))
        if self.config.record and complete < epoch - 1:
            raise RunExistsError(
                f"{self.folder} has no complete record of epoch {complete + 1}: resume with --no-record, or"
                " choose another --out"
            )
        check_metrics(self.folder / METRICS, epoch - 1)
        json_lines.filter_lines(self.folder / METRICS, lambda line: line.get("epoch") in range(1, epoch))
        (self.folder / RECORD / record.MERGED).unlink(missing_ok=True)
        for file in record.epoch_files(self.folder / RECORD)[complete:]:
            file.unlink()

    def is_checkpoint_due(self) -> bool:
        return self.writes and time.monotonic() - self._saved >= self.config.checkpoint_seconds

    def save(self, session: Session) -> None:
        """Write a checkpoint of the current state."""
        if not self.writes:
            return
        atomic.flush([*self._unsynced, self.folder / METRICS])
        self._unsynced.clear()
        with capture_lock:
            state = session.state()
            checkpoint.save(self.folder / CHECKPOINTS, step=session.step, state=state)
        self._saved = time.monotonic()

    def stop(self, session: Session, signal: int) -> None:
        """Save a checkpoint and raise Interrupted."""
        self.save(session)
        session.ranks.wait()  # torchrun ends all processes as soon as one ends
        raise Interrupted(signal, self.folder, epoch=session.epoch, step=session.step)

    def end_epoch(self, session: Session, line: dict[str, Any]) -> None:
        """Write record and metrics of the epoch, and the network if its validation accuracy is the best."""
        if self.writes:
            self._write_epoch(session, line)
        accuracy = line.get("validation_accuracy")
        if accuracy is not None and (session.best is None or accuracy > session.best["validation_accuracy"]):
            session.best = {
                name: line.get(name) for name in ("epoch", "validation_accuracy", "test_accuracy")
            }
            if self.writes:
                atomic.write_tensors(self.folder / BEST, session.predictor.state_dict(), checked=True)

    def _write_epoch(self, session: Session, line: dict[str, Any]) -> None:
        if self.config.record:
            columns = session.recorder.epoch()
            self._unsynced.append(record.save_epoch(self.folder / RECORD, session.epoch, columns))
        now = time.monotonic()
        line["seconds"] = round(now - self._ended, 3)
        self._ended = now
        json_lines.append(self.folder / METRICS, line)

    def is_out_of_patience(self, session: Session) -> bool:
        """Whether ``patience`` epochs have passed since the best validation accuracy."""
        done = session.epoch - 1
        if self.config.patience is None or session.best is None or done % self.config.evaluate_every:
            return False
        return done - int(session.best["epoch"]) >= self.config.patience

    def finish(self, session: Session, task: Task) -> None:
        """Write weights, outputs and finally the result; then remove files only an unfinished run needs."""
        train = logits_of(session, task.train)
        outputs = _outputs(session, task, train)
        if not self.writes:
            return
        atomic.write_tensors(self.folder / MODEL, session.predictor.state_dict(), checked=True)
        atomic.write_tensors(self.folder / OUTPUTS, outputs, checked=True)
        fitted = subset_accuracies(train.argmax(1), task.train.label, task.train.clean_label)
        record.merge(self.folder / RECORD)
        result = summary(json_lines.read(self.folder / METRICS), session.best, fitted)
        atomic.write_text(self.folder / RESULT, json.dumps(result, indent=2) + "\n")
        self._clear()
        warn_of_no_learning(train, task.train, session.method, session.config, session.step)

    def _clear(self) -> None:
        for file in record.epoch_files(self.folder / RECORD):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.folder / CHECKPOINTS, ignore_errors=True)


def environment(device: torch.device) -> dict[str, Any]:
    """Versions and hardware at the start of a run; bitwise reproducibility requires the same ones."""
    is_cuda = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if is_cuda else platform.processor() or platform.machine()
    return {
        "noiseproof": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "device": f"{device.type}: {name}",
        "threads": torch.get_num_threads(),
    }


def summary(
    lines: list[dict[str, Any]], selected: dict[str, Any] | None, fitted: dict[str, float | None]
) -> dict[str, Any]:
    """The result of a run; ``selected`` is the epoch with the best validation accuracy.

    ``best`` is the maximum over all evaluations on test data, as printed in papers. It is only for comparison
    with their numbers and never used to choose anything.
    """
    tested = [line for line in lines if line.get("test_accuracy") is not None]
    best = max(tested, key=lambda line: float(line["test_accuracy"]), default=None)
    last = lines[-1]
    return {
        "epochs": last["epoch"],
        "steps": last["step"],
        "final_test_accuracy": last.get("test_accuracy"),
        "best_test_accuracy": None if best is None else best["test_accuracy"],
        "best_epoch": None if best is None else best["epoch"],
        "selected": selected,
        "train": fitted,
        "alpha": last["alpha"],
        "snr": last["snr"],
        "seconds": sum(line["seconds"] for line in lines),
    }


def _outputs(session: Session, task: Task, train: Tensor) -> dict[str, Tensor]:
    of_method = session.method.final_outputs().items()
    found = {name: value.detach().cpu() for name, value in of_method if value.numel() <= MAX_VALUES}
    if train.numel() <= MAX_VALUES:
        found["train_probability"] = train.softmax(1).half()
    config = session.config
    is_part = config.validation_labels == "given" and config.validation_data is None
    judged = task.validation if is_part else None
    for part, data in (("validation", judged), ("test", task.test)):
        if data is None:
            continue
        logits = logits_of(session, data)
        found |= {f"{part}_label": data.label.cpu(), f"{part}_index": data.index.cpu()}
        if logits.numel() <= MAX_VALUES:
            found[f"{part}_probability"] = logits.softmax(1).half()
    return found if task.test is None else found | _features(session, task.test)


def _features(session: Session, test: LabelledData) -> dict[str, Tensor]:
    few = test.subset(torch.arange(min(MAX_FEATURES, len(test))))
    try:
        features = predict_features(session.predictor, few, session.views.evaluation, device=session.device)
    except (ValueError, TypeError):  # the user's network has no linear layer
        return {}
    return {"test_features": features.half()}
