"""The reading side: margin and prediction of every training sample at every epoch."""

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
from .checks import check_columns, check_samples, damaged, read_tensors

if TYPE_CHECKING:
    from ..losses import MarginLoss

SAMPLES = "samples.safetensors"
MERGED = "epochs.safetensors"


@dataclass(frozen=True, eq=False)
class Record:
    """What happened to each sample.

    Shape:
        index, label, clean_label (N,) int64; margin (E, N) float16, NaN where an epoch did not visit the
        sample; prediction (E, N) int32, -1 there; extra columns (E, N) float16
    """

    index: Tensor
    label: Tensor
    """Given labels."""
    clean_label: Tensor | None
    class_names: tuple[str, ...]
    margin: Tensor
    prediction: Tensor
    extra: Mapping[str, Tensor] = field(default_factory=dict)
    """Columns of some methods: ``tau``, or ``emphasis`` where it does not follow from the margin."""

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
        """(N,) bool, where the given label is wrong; None if the truth is not known."""
        return None if self.clean_label is None else self.label != self.clean_label

    def emphasis(self, loss: MarginLoss) -> Tensor:
        """(E, N) float32: what the loss gave each sample, from its margin, or as recorded.

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
        """Write to a new folder, from which ``load`` reads the record."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        save_samples(target, self.index, self.label, self.clean_label, self.class_names)
        columns = {"margin": self.margin, "prediction": self.prediction, **self.extra}
        write_tensors(target / MERGED, columns, checked=True)

    @classmethod
    def load(cls, folder: str | Path) -> Record:
        """From the ``record`` folder of a run, finished or not, or from ``save``.

        ValueError if a file of it is damaged.
        """
        samples, merged = Path(folder, SAMPLES), Path(folder, MERGED)
        if not os.path.lexists(samples):
            raise FileNotFoundError(f"{folder} holds no record: expected {SAMPLES} in it, as a run writes it")
        facts, about = read_tensors(samples)
        class_names = check_samples(samples, facts, about)
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
        )
        check_classes(record, Path(folder))
        return record


def check_classes(record: Record, folder: Path) -> None:
    """ValueError where a label or a prediction is not a class: the files are damaged."""
    for name, least in (("label", 0), ("clean_label", -1), ("prediction", -1)):
        column = getattr(record, name)
        if column is None or column.numel() == 0:
            continue
        low, high = (int(end) for end in torch.aminmax(column))
        if low < least or high >= record.num_classes:
            wrong = low if low < least else high
            raise damaged(folder, f"{name} {wrong} is not one of its {record.num_classes} classes")


def save_samples(
    folder: Path, index: Tensor, label: Tensor, clean_label: Tensor | None, class_names: tuple[str, ...]
) -> None:
    """What does not change from epoch to epoch."""
    facts = {"index": index, "label": label} | ({} if clean_label is None else {"clean_label": clean_label})
    write_tensors(folder / SAMPLES, facts, {"class_names": json.dumps(class_names)}, checked=True)


def save_epoch(folder: Path, epoch: int, columns: Mapping[str, Tensor]) -> Path:
    """One file per epoch, counted from 1; ``atomic.flush`` it before a checkpoint relies on it."""
    path = _epoch_file(folder, epoch)
    write_tensors(path, columns, sync=False, checked=True)
    return path


def merge(folder: Path) -> None:
    """All epochs into one file; the single ones stay until the run is finished, in case it is killed."""
    files = epoch_files(folder)
    if not files:
        return
    write_tensors(folder / MERGED, _stacked(files, None), checked=True)


def epoch_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.safetensors"))


def epochs_without_gap(folder: Path) -> int:
    """How many epochs have a whole file, from the first one to the first that has none."""
    return next(number for number in count() if not _is_whole(_epoch_file(folder, number + 1)))


def _epoch_file(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:05d}.safetensors"


def _is_whole(path: Path) -> bool:
    """There, as long as its header says, and with the checksum it was written with."""
    try:
        read_tensors(path)
    except (ValueError, OSError):
        return False
    return True


def _stacked(files: list[Path], samples: int | None) -> dict[str, Tensor]:
    """Columns (E, N) of these epochs; ``samples`` None takes the number that the first of them has."""
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


def example_record(
    samples: int = 400,
    epochs: int = 12,
    *,
    classes: int = 4,
    wrong: float = 0.3,
    seed: int = 0,
    known: bool = True,
) -> Record:
    """Samples labelled right are learned at once, the others slowly and late. Simulated, for examples.

    Example:
        >>> example_record()
        Record(12 epochs of 400 samples, 4 classes)
    """
    generator = torch.Generator().manual_seed(seed)
    clean = torch.randint(classes, (samples,), generator=generator)
    flipped = torch.rand(samples, generator=generator) < wrong
    label = torch.where(flipped, (clean + 1) % classes, clean)
    time = torch.linspace(0, 1, epochs).unsqueeze(1)
    goal = torch.where(flipped, -5 + 7 * time**2, -1 + 5 * time**0.5)
    margin = (
        goal
        + torch.randn(epochs, samples, generator=generator) * 0.6
        + torch.randn(samples, generator=generator)
    )
    prediction = torch.where(margin > 0, label, torch.where(flipped, clean, (clean + 2) % classes))
    return Record(
        index=torch.arange(samples),
        label=label,
        clean_label=clean if known else None,
        class_names=tuple(f"class {number}" for number in range(classes)),
        margin=margin.half(),
        prediction=prediction.int(),
    )
