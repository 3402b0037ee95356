"""A run as it lies on the disk: everything that looks at runs reads it through here."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from .lines import read as read_lines
from .record import Record, read_tensors

CONFIG, MANIFEST, METRICS, RESULT = "config.json", "manifest.json", "metrics.jsonl", "result.json"
RECORD, CHECKPOINTS, MODEL, BEST = "record", "checkpoints", "model.safetensors", "best.safetensors"
OUTPUTS, FAILURE = "outputs.safetensors", "failure.txt"


class RunFolder:
    """A folder that training wrote, finished or not; reading never changes it.

    ==================  ====================================================================================
    config.json         what was asked for: data, noise, model, loss, ... (``settings``)
    manifest.json       what it became: samples, class names, noise as realised, versions (``manifest``)
    metrics.jsonl       one line per epoch (``metrics``)
    record/             margin and prediction of every sample at every epoch (``record``)
    result.json         final, best and selected numbers; there once the run is finished (``result``)
    model.safetensors   weights after the last step; best.safetensors those chosen by validation
    outputs.safetensors what the final network says, in evaluation mode (``outputs``)
    checkpoints/        the two newest, gone when the run is finished
    failure.txt         where it broke, if a run of a comparison did; gone when it is finished
    ==================  ====================================================================================
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / CONFIG).is_file():
            raise FileNotFoundError(
                f"{self.folder} is no run: expected {CONFIG} in it, as training writes it"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}{'' if self.finished else ', unfinished'})"

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def finished(self) -> bool:
        return (self.folder / RESULT).is_file()

    @cached_property
    def settings(self) -> dict[str, Any]:
        return self._json(CONFIG)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return self._json(MANIFEST)

    @property
    def result(self) -> dict[str, Any] | None:
        """The numbers of a finished run, None before."""
        return self._json(RESULT) if self.finished else None

    @property
    def damage(self) -> str | None:
        """Which of config.json and result.json cannot be read, and what to do; None if all is well."""
        try:
            for name in (CONFIG, RESULT):
                if (self.folder / name).is_file():
                    self._json(name)
        except ValueError as problem:
            return f"{problem}; remove the folder to train it again"
        return None

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One entry per epoch."""
        path = self.folder / METRICS
        return read_lines(path) if path.is_file() else []

    @property
    def record(self) -> Record:
        """Margins and predictions, of the epochs so far."""
        return Record.load(self.folder / RECORD)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """Of the final network in evaluation mode: ``train_probability`` (N, C), ``test_probability``,
        ``test_label``, ``test_index``, ``test_features`` of the first test samples; {} before the end.

        Probabilities of very large data are left out.
        """
        path = self.folder / OUTPUTS
        return read_tensors(path)[0] if path.is_file() else {}

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise ValueError(f"cannot read {path}: {problem}") from None
        if not isinstance(found, dict):
            raise ValueError(f"{path} does not hold a JSON object")
        return found
