"""The reading side: margin and prediction of every training sample at every epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ..atomic import write_tensors

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

    @classmethod
    def load(cls, folder: str | Path) -> Record:
        """From the ``record`` folder of a run, finished or not."""
        folder = Path(folder)
        if not (folder / SAMPLES).is_file():
            raise FileNotFoundError(f"{folder} holds no record: expected {SAMPLES} in it, as a run writes it")
        facts, about = read_tensors(folder / SAMPLES)
        merged = folder / MERGED
        columns = (
            read_tensors(merged)[0]
            if merged.is_file()
            else _stacked(epoch_files(folder), len(facts["index"]))
        )
        record = cls(
            index=facts["index"],
            label=facts["label"],
            clean_label=facts.get("clean_label"),
            class_names=tuple(json.loads(about["class_names"])),
            margin=columns.pop("margin"),
            prediction=columns.pop("prediction"),
            extra=columns,
        )
        check_classes(record, folder)
        return record


def check_classes(record: Record, folder: Path) -> None:
    """ValueError where a label or a prediction is no class: the files are damaged."""
    for name, least in (("label", 0), ("clean_label", -1), ("prediction", -1)):
        column = getattr(record, name)
        if column is None or column.numel() == 0:
            continue
        low, high = (int(end) for end in torch.aminmax(column))
        if low < least or high >= record.num_classes:
            raise ValueError(
                f"{folder} is damaged: {name} {low if low < least else high} is none of its"
                f" {record.num_classes} classes; restore the folder or train again"
            )


def save_samples(
    folder: Path, index: Tensor, label: Tensor, clean_label: Tensor | None, class_names: tuple[str, ...]
) -> None:
    """What does not change from epoch to epoch."""
    facts = {"index": index, "label": label} | ({} if clean_label is None else {"clean_label": clean_label})
    write_tensors(folder / SAMPLES, facts, {"class_names": json.dumps(class_names)})


def save_epoch(folder: Path, epoch: int, columns: Mapping[str, Tensor]) -> Path:
    """One file per epoch, counted from 1; ``atomic.flush`` it before a checkpoint relies on it."""
    path = _epoch_file(folder, epoch)
    write_tensors(path, columns, sync=False)
    return path


def merge(folder: Path) -> None:
    """All epochs into one file; the single ones stay until the run is finished, in case it is killed."""
    files = epoch_files(folder)
    if not files:
        return
    write_tensors(folder / MERGED, _stacked(files, 0))


def epoch_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.safetensors"))


def epochs_without_gap(folder: Path) -> int:
    """How many epochs have a whole file, from the first one to the first that has none."""
    return next(number for number in count() if not _is_whole(_epoch_file(folder, number + 1)))


def _epoch_file(folder: Path, epoch: int) -> Path:
    return folder / f"epoch-{epoch:05d}.safetensors"


def _is_whole(path: Path) -> bool:
    """There, and as long as its header says."""
    try:
        with safe_open(path, framework="pt"):
            return True
    except (SafetensorError, OSError):
        return False


def _stacked(files: list[Path], samples: int) -> dict[str, Tensor]:
    if not files:
        nothing = torch.zeros(0, samples)
        return {"margin": nothing.half(), "prediction": nothing.int()}
    epochs = [read_tensors(file)[0] for file in files]
    return {name: torch.stack([epoch[name] for epoch in epochs]) for name in epochs[0]}


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as problem:
        raise ValueError(f"cannot read {path}: {problem}") from None
