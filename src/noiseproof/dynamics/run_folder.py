"""``RunFolder``: read access to the files of a run."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from .checks import check_manifest, check_numbers, check_outputs, damaged, read_json, read_tensors
from .json_lines import read as read_lines
from .record import Record

CONFIG, MANIFEST, METRICS, RESULT = "config.json", "manifest.json", "metrics.jsonl", "result.json"
RECORD, CHECKPOINTS, MODEL, BEST = "record", "checkpoints", "model.safetensors", "best.safetensors"
OUTPUTS, FAILURE, CHOICE = "outputs.safetensors", "failure.txt", "choice.json"


class RunFolder:
    """The folder of a run, finished or not, which is never modified by reading.

    ==================  ====================================================================================
    config.json         settings: data, noise, model, loss, ... (``settings``)
    manifest.json       samples, class names, realised noise, versions (``manifest``)
    metrics.jsonl       one line per epoch (``metrics``)
    record/             margin and prediction of every sample at every epoch (``record``)
    result.json         final, best and selected metrics; exists when the run is finished (``result``)
    model.safetensors   weights after the last step; best.safetensors: those selected by validation
    outputs.safetensors predictions of the final network in evaluation mode (``outputs``)
    choice.json         trials and choice of ``--loss auto`` (``choice``)
    checkpoints/        the two newest; removed when the run is finished
    failure.txt         traceback of a failed run of a comparison; removed when the run is finished
    ==================  ====================================================================================
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / CONFIG).is_file():
            raise FileNotFoundError(f"{self.folder} is not a run folder: it does not contain {CONFIG}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(str(self.folder)), *self._summary()])})"

    def _summary(self) -> list[str]:
        """The state and results of the run, as parts of its repr."""
        if not self.finished:
            return ["unfinished"]
        if self.damage is not None:
            return ["damaged"]
        result, settings = self.result or {}, self.settings
        trained = f"{settings.get('method') or settings.get('loss')}, {result.get('epochs')} epochs"
        train = result.get("train") or {}
        shares = {"test labels": result.get("final_test_accuracy"), "given labels": train.get("corrupted")}
        known = [f"{100 * share:.1f}% of the {name}" for name, share in shares.items() if share is not None]
        return [trained, *([f"predicts {' and '.join(known)}"] if known else [])]

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def finished(self) -> bool:
        return (self.folder / RESULT).is_file()

    @cached_property
    def settings(self) -> dict[str, Any]:
        return read_json(self.folder / CONFIG)

    @property
    def choice(self) -> dict[str, Any] | None:
        """``words``, ``trials``, ... if the loss was chosen automatically, else None."""
        path = self.folder / CHOICE
        return read_json(path) if path.is_file() else None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        path = self.folder / MANIFEST
        found = read_json(path)
        check_manifest(path, found)
        return found

    @property
    def result(self) -> dict[str, Any] | None:
        """The results of a finished run, None before."""
        if not self.finished:
            return None
        path = self.folder / RESULT
        found = read_json(path)
        check_numbers(path, found)
        return found

    @property
    def damage(self) -> str | None:
        """The error if config.json or result.json cannot be read, else None."""
        try:
            _ = self.settings, self.result
        except ValueError as problem:
            return str(problem)
        return None

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One entry per epoch."""
        path = self.folder / METRICS
        if not path.is_file():
            return []
        found = read_lines(path)
        for line in found:
            check_numbers(path, line)
            if type(line.get("epoch")) is not int:
                raise damaged(path, "a line has no epoch")
        return found

    @property
    def record(self) -> Record:
        """Margins and predictions of the completed epochs."""
        self._check_format()
        return Record.load(self.folder / RECORD)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """Outputs of the final network in evaluation mode: ``train_probability`` (N, C),
        ``test_probability``, ``test_label``, ``test_index``, ``test_features`` of the first test samples;
        {} for an unfinished run. Methods add their own, such as ``target`` (N, C).

        Probabilities of very large data are not stored.
        """
        path = self.folder / OUTPUTS
        if not path.is_file():
            return {}
        self._check_format()
        found = read_tensors(path)[0]
        check_outputs(path, found)
        return found

    def _check_format(self) -> None:
        """ValueError if a later version wrote the folder; folders of old versions may lack the manifest."""
        if (self.folder / MANIFEST).is_file():
            _ = self.manifest
