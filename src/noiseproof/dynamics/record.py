"""``Record``: margin and prediction of every training sample at every epoch, and its files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..atomic import write_tensors
from ..memory import available_memory
from .checks import check_columns, check_label_shape, check_samples, damaged, read_tensors

if TYPE_CHECKING:
    from ..losses import MarginLoss

SAMPLES = "samples.safetensors"
MERGED = "epochs.safetensors"


@dataclass(frozen=True, eq=False)
class Record:
    """Margin and prediction of every sample at every epoch.

    Shape:
        index, label, clean_label (N,) int64; margin (E, N) float16, NaN if the epoch did not visit the
        sample; prediction (E, N) int32, -1 for these; extra columns (E, N) float16
    """

    index: Tensor
    label: Tensor
    """Given labels."""
    clean_label: Tensor | None
    class_names: tuple[str, ...]
    margin: Tensor
    prediction: Tensor
    extra: Mapping[str, Tensor] = field(default_factory=dict)
    """Columns of some methods: ``tau``, or ``emphasis`` if it is not a function of the margin."""
    shape: tuple[int, ...] | None = None
    """Sizes of the ``Recorder``, if it was given a tuple: samples and the labels of each."""

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Record({self.epochs} epochs of {len(self)} samples, {self.num_classes} classes)"

    @property
    def epochs(self) -> int:
        return len(self.margin)

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def flipped(self) -> Tensor | None:
        """(N,) bool, whether the given label is wrong; None without clean labels."""
        return None if self.clean_label is None else self.label != self.clean_label

    def emphasis(self, loss: MarginLoss) -> Tensor:
        """(E, N) float32: emphasis of each sample, as recorded or computed from its margin.

        Example:
            >>> from noiseproof import losses
            >>> one = torch.zeros(1, dtype=torch.int64)
            >>> record = Record(one, one, None, ("a", "b"), torch.zeros(3, 1).half(), one.int().expand(3, 1))
            >>> record.emphasis(losses.get("ce")).squeeze()
            tensor([0.5000, 0.5000, 0.5000])
        """
        if "emphasis" in self.extra:
            return self.extra["emphasis"].float()
        _, emphasis = loss.evaluate(self.margin.float(), num_classes=self.num_classes, mass=None)
        return emphasis

    def save(self, folder: str | Path) -> None:
        """Write the record to a folder; see ``load``."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        save_samples(target, self.index, self.label, self.clean_label, self.class_names, self.shape)
        columns = {"margin": self.margin, "prediction": self.prediction, **self.extra}
        write_tensors(target / MERGED, columns, checked=True)

    @classmethod
    def load(cls, folder: str | Path) -> Record:
        """Load the ``record`` folder of a run, finished or not, or a folder of ``save``.

        ValueError if a file is damaged.
        """
        samples, merged = Path(folder, SAMPLES), Path(folder, MERGED)
        if not os.path.lexists(samples):
            raise FileNotFoundError(f"{folder} does not contain a record: {SAMPLES} is missing")
        facts, metadata = read_tensors(samples)
        class_names = check_samples(samples, facts, metadata)
        count = len(facts["index"])
        if os.path.lexists(merged):
            columns = read_tensors(merged)[0]
            check_columns(merged, columns, (*columns.get("margin", facts["index"]).shape[:1], count))
        else:
            columns = _stacked(epoch_files(Path(folder)), count)
        record = cls(
            index=facts["index"],
            label=facts["label"],
            clean_label=facts.get("clean_label"),
            class_names=class_names,
            margin=columns.pop("margin"),
            prediction=columns.pop("prediction"),
            extra=columns,
            shape=check_label_shape(samples, metadata),
        )
        check_classes(record, Path(folder))
        return record


def check_classes(record: Record, folder: Path) -> None:
    """ValueError if a label or a prediction is not a valid class, so that the files are damaged."""
    for name, least in (("label", 0), ("clean_label", -1), ("prediction", -1)):
        column = getattr(record, name)
        if column is None or column.numel() == 0:
            continue
        low, high = (int(end) for end in torch.aminmax(column))
        if low < least or high >= record.num_classes:
            wrong = low if low < least else high
            raise damaged(folder, f"{name} {wrong} is not a valid class: it has {record.num_classes} classes")


def save_samples(
    folder: Path,
    index: Tensor,
    label: Tensor,
    clean_label: Tensor | None,
    class_names: tuple[str, ...],
    shape: tuple[int, ...] | None = None,
) -> None:
    """Write numbers, labels, class names and shape, which are the same for all epochs."""
    facts = {"index": index, "label": label} | ({} if clean_label is None else {"clean_label": clean_label})
    known = {"class_names": class_names} | ({} if shape is None else {"shape": shape})
    metadata = {name: json.dumps(value) for name, value in known.items()}
    write_tensors(folder / SAMPLES, facts, metadata, checked=True)


def save_epoch(folder: Path, epoch: int, columns: Mapping[str, Tensor]) -> Path:
    """Write the file of an epoch, counted from 1; ``atomic.flush`` it before saving a checkpoint."""
    path = _epoch_file(folder, epoch)
    write_tensors(path, columns, sync=False, checked=True)
    return path


def merge(folder: Path) -> None:
    """Merge all epochs into one file; the single files are kept until the run is finished."""
    files = epoch_files(folder)
    if not files:
        return
    write_tensors(folder / MERGED, _stacked(files, None), checked=True)


def epoch_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.safetensors"))


def epochs_without_gap(folder: Path) -> int:
    """Number of epochs with an intact file before the first epoch without one."""
    return next(number for number in count() if not _is_intact(_epoch_file(folder, number + 1)))


def _epoch_file(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:05d}.safetensors"


def _is_intact(path: Path) -> bool:
    """Whether the file exists and has the size of its header and the right checksum."""
    try:
        read_tensors(path)
    except (ValueError, OSError):
        return False
    return True


def _stacked(files: list[Path], samples: int | None) -> dict[str, Tensor]:
    """Columns (E, N) of these epochs; ``samples`` is the expected N, by default that of the first file."""
    if not files:
        nothing = torch.zeros(0, samples or 0)
        return {"margin": nothing.half(), "prediction": nothing.int()}
    most = available_memory()
    epochs = [read_tensors(file, most)[0] for file in files]
    if samples is None:
        samples = epochs[0].get("margin", torch.empty(0)).numel()
    for file, epoch in zip(files, epochs, strict=True):
        check_columns(file, epoch, (samples,))
        if epoch.keys() != epochs[0].keys():
            raise damaged(file, f"its columns are not those of {files[0].name}")
    return {name: torch.stack([epoch[name] for epoch in epochs]) for name in epochs[0]}
