"""``Recorder``: record margins and predictions in a training loop of your own."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import processes
from ..kernels import values_can_be_checked
from ..losses import margin
from .epoch_table import MAX_FLOAT16, NOT_SEEN
from .record import Record

OUT_OF_RANGE = "index {0} is out of range: it must be 0 to {2} for a Recorder of {1} samples"
LABEL_CHANGED = (
    "the labels of {count:,} of {seen:,} samples have changed, that of sample {first} from {old} to {new}:"
    " index must be the permanent number of a sample in the training data, not its position in a batch, in a"
    " shuffled epoch or in the part of one process. Earlier epochs of these samples are discarded"
)


class Recorder:
    """Record margin and prediction of every sample at every epoch of your own loop.

    Call ``write`` after each batch with its logits and ``end_epoch`` after each epoch, and pass ``record()``
    to ``labels.find``. The GPU is not synchronised until the epoch ends.

    Args:
        num_samples: size of the training data; a tuple if each sample has several labels, such as
            ``(sentences, longest)`` for tokens, ``(images, height, width)`` for pixels or ``(samples,
            labels)`` with ``binary``.
        class_names: for tables and pages; by default the class numbers.
        ignore_index: labels with this value are not recorded.
        binary: targets have the shape of the logits, as for ``losses.binary``; every entry is recorded as a
            two-class problem.

    With torch.distributed, every process writes its part and all processes call ``end_epoch``, which merges
    the parts; a sample of several processes counts once. If a sample is visited twice in an epoch, the last
    visit is kept. ``state_dict`` and ``load_state_dict`` are for checkpoints.

    Shape:
        ``write(index, logits, label)``: index (B,), logits (B, C, d1, ...), label (B, d1, ...); d1, ... may
        be shorter than those of ``num_samples``. Or index of the same shape as label: one number per label.
    Example:
        >>> from noiseproof import labels
        >>> recorder = Recorder(4, class_names=["cat", "dog"])
        >>> for epoch in range(3):
        ...     logits = torch.tensor([[3.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 2.0]])  # of your network
        ...     recorder.write(torch.arange(4), logits, torch.tensor([0, 0, 1, 0]))
        ...     recorder.end_epoch()
        >>> labels.find(recorder.record()).is_label_issue.tolist()
        [False, False, False, True]
    """

    def __init__(
        self,
        num_samples: int | Sequence[int],
        *,
        class_names: Sequence[str] | None = None,
        ignore_index: int = -100,
        binary: bool = False,
    ) -> None:
        self.shape = _shape(num_samples)
        self.class_names = None if class_names is None else tuple(map(str, class_names))
        self.ignore_index, self.binary = ignore_index, binary
        self.size = math.prod(self.shape)
        self.num_classes = 2 if binary else 0
        self._margin: list[Tensor] = []
        self._prediction: list[Tensor] = []
        self._label = torch.full((self.size,), NOT_SEEN, dtype=torch.int64)
        self._current: dict[str, Tensor] = {}
        self._warned = False

    def __repr__(self) -> str:
        size = self.shape[0] if len(self.shape) == 1 else self.shape
        return f"Recorder({size}: {len(self._margin)} epochs)"

    @torch.no_grad()
    def write(self, index: Any, logits: Any, label: Any) -> None:
        """Record a batch: permanent sample numbers, logits and given labels."""
        logits = _as_tensor(logits).detach()
        index, label = (_as_tensor(part).to(logits.device).detach() for part in (index, label))
        logits, label = self._as_classes(logits, label)
        self._check_classes(logits, label)
        delta = margin(logits, label, ignore_index=self.ignore_index)
        rows, label = self._rows(index, label), label.long().reshape(-1)
        now = self._columns(logits.device)
        before = now["label"][rows]
        now["label"][rows] = label
        moved = ((before >= 0) & (before != label)) | (now["label"][rows] != label)
        now["moved"][torch.where(moved, rows, self.size)] = True
        now["margin"][rows] = delta.reshape(-1).float()
        now["prediction"][rows] = logits.argmax(1).reshape(-1).int()

    def end_epoch(self) -> None:
        """Store the epoch, merged over all processes, and begin the next one."""
        now = self._merged()
        seen = now["label"] >= 0
        if bool(seen.any()):
            self._discard_changed(now, seen)
            self._label = torch.where(seen, now["label"], self._label)
            self._margin.append(now["margin"].clamp(-MAX_FLOAT16, MAX_FLOAT16).half())
            self._prediction.append(now["prediction"])
        self._current = {}

    def record(self) -> Record:
        """The record of the completed epochs, with the samples that were seen, in the order of their numbers.

        ``index`` of the record, and of the frame of ``labels.find``, is the sample number; for a tuple of
        sizes see ``labels.with_positions``.
        """
        if not self._margin and self._current:
            raise RuntimeError(
                "no epoch has been completed: call recorder.end_epoch() after the batches of an epoch"
            )
        index = (self._label >= 0).nonzero().flatten()
        empty = torch.zeros(0, len(index))
        return Record(
            index=index,
            label=self._label[index],
            clean_label=None,
            class_names=self.class_names or tuple(map(str, range(max(self.num_classes, 1)))),
            margin=_stacked([one[index] for one in self._margin], empty.half()),
            prediction=_stacked([one[index] for one in self._prediction], empty.int()),
            shape=self.shape if len(self.shape) > 1 else None,
        )

    def state_dict(self) -> dict[str, Tensor]:
        """The complete state as tensors, including the current epoch."""
        size = torch.zeros(0, self.size)
        return {
            "num_classes": torch.tensor(self.num_classes),
            "known": self._label.clone(),
            "margins": _stacked(self._margin, size.half()),
            "predictions": _stacked(self._prediction, size.int()),
            **{f"now.{name}": column.cpu().clone() for name, column in self._current.items()},
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore the state of ``state_dict``."""
        if len(state["known"]) != self.size:
            raise ValueError(
                f"the state has {len(state['known']):,} labels, but this Recorder has {self.size:,}"
            )
        self.num_classes = int(state["num_classes"])
        self._label = state["known"].cpu().clone()
        self._margin = list(state["margins"].cpu().unbind())
        self._prediction = list(state["predictions"].cpu().unbind())
        self._current = {
            name.removeprefix("now."): column.clone()
            for name, column in state.items()
            if name.startswith("now.")
        }

    # Checks of a batch -------------------------------------------------------------------------------

    def _as_classes(self, logits: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Logits with a class dimension and labels without it."""
        if not self.binary:
            if label.is_floating_point() or label.dim() != logits.dim() - 1:
                raise ValueError(
                    f"label of shape {tuple(label.shape)} and dtype {label.dtype} does not fit logits of"
                    f" shape {tuple(logits.shape)}: give class numbers of shape"
                    f" {tuple(self._label_shape(logits))}"
                    + (", or make Recorder(..., binary=True)" if label.shape == logits.shape else "")
                )
            return logits, label
        if label.shape != logits.shape:
            raise ValueError(
                f"with binary=True label of shape {tuple(label.shape)} must have the shape of the logits,"
                f" {tuple(logits.shape)}"
            )
        target = label.long()
        is_binary = ((label == 0) | (label == 1) | (label == self.ignore_index)).all()
        if values_can_be_checked(label) and not bool(is_binary):
            raise ValueError("with binary=True labels must be 0, 1 or ignore_index: round soft targets")
        return torch.stack([torch.zeros_like(logits), logits], 1), target

    def _label_shape(self, logits: Tensor) -> torch.Size:
        return logits.shape[:1] + logits.shape[2:]

    def _check_classes(self, logits: Tensor, label: Tensor) -> None:
        if logits.dim() < 2 or label.shape != self._label_shape(logits):
            raise ValueError(
                f"label of shape {tuple(label.shape)} does not fit logits of shape {tuple(logits.shape)}"
            )
        classes = logits.shape[1]
        if self.num_classes not in (0, classes):
            raise ValueError(f"logits have {classes} classes, but {self.num_classes} in earlier batches")
        if self.class_names is not None and len(self.class_names) != classes:
            raise ValueError(f"logits have {classes} classes, class_names has {len(self.class_names)}")
        self.num_classes = classes

    def _rows(self, index: Tensor, label: Tensor) -> Tensor:
        """The row of every label, flattened; the row after the last one for labels to ignore."""
        if index.is_floating_point() or index.is_complex() or index.dtype == torch.bool:
            raise TypeError(f"index must hold sample numbers (integers), got {index.dtype}")
        index = index.long()
        if index.shape == label.shape and label.dim() == 1 < len(self.shape):
            raise ValueError(
                f"this Recorder has labels of shape {self.shape}, but the batch has one label per sample: use"
                f" Recorder({self.shape[0]})"
            )
        if index.shape != label.shape or len(self.shape) > 1:
            index = self._flat_index(index, label)
        rows = index.reshape(-1)
        left_out = (label == self.ignore_index).reshape(-1)
        outside = ((rows < 0) | (rows >= self.size)) & ~left_out
        if values_can_be_checked(rows):
            if bool(outside.any()):
                raise IndexError(OUT_OF_RANGE.format(int(rows[outside][0]), self.size, self.size - 1))
        else:
            columns = self._columns(rows.device)
            columns["stray"] = torch.maximum(columns["stray"], torch.where(outside, rows.abs(), -1).amax())
        return torch.where(left_out | outside, self.size, rows)

    def _flat_index(self, index: Tensor, label: Tensor) -> Tensor:
        """Flat numbers of the labels of samples with several labels."""
        sizes, allowed = label.shape[1:], self.shape[1:]
        if index.shape != label.shape[:1]:
            raise ValueError(
                f"index of shape {tuple(index.shape)} does not fit label of shape {tuple(label.shape)}: give"
                " one number per sample"
            )
        if len(sizes) != len(allowed) or any(
            size > limit for size, limit in zip(sizes, allowed, strict=True)
        ):
            wanted = (self.shape[0], *sizes)
            raise ValueError(
                f"each sample has labels of shape {tuple(sizes)}, but this Recorder allows {tuple(allowed)}:"
                f" use Recorder({wanted})"
            )
        flat = index
        for size, limit in zip(sizes, allowed, strict=True):
            flat = flat.unsqueeze(-1) * limit + torch.arange(size, device=index.device)
        return flat

    def _columns(self, device: torch.device) -> dict[str, Tensor]:
        """The columns of the current epoch, with an additional last row for labels to ignore.

        ``moved``: whether the label has changed within the epoch; ``stray``: the largest index out of range.
        """
        if not self._current:
            size = (self.size + 1,)
            self._current = {
                "margin": torch.full(size, torch.nan),
                "prediction": torch.full(size, NOT_SEEN, dtype=torch.int32),
                "label": torch.full(size, NOT_SEEN, dtype=torch.int64),
                "moved": torch.zeros(size, dtype=torch.bool),
                "stray": torch.tensor(-1),
            }
        if self._current["label"].device != device:
            self._current = {name: column.to(device) for name, column in self._current.items()}
        return self._current

    # The end of an epoch -----------------------------------------------------------------------------

    def _merged(self) -> dict[str, Tensor]:
        """The columns merged over all processes, on the CPU, without the row of labels to ignore."""
        device = self._current["label"].device if self._current else torch.device("cpu")
        now = self._columns(processes.collective_device(device))
        stray = processes.maximum(int(now.pop("stray")), now["label"].device)
        if stray >= 0:
            self._current = {}
            raise IndexError(OUT_OF_RANGE.format(stray, self.size, self.size - 1))
        now = {name: column[: self.size] for name, column in now.items()}
        if processes.count() > 1:
            now = self._exchanged(now)
            self.num_classes = processes.maximum(self.num_classes, now["label"].device)
        return {name: column.to("cpu", copy=True) for name, column in now.items()}

    def _exchanged(self, now: dict[str, Tensor]) -> dict[str, Tensor]:
        seen = now["label"] >= 0
        mine = processes.is_first_owner(seen)
        label = processes.values_of_owner(now["label"], mine, NOT_SEEN)
        moved = now["moved"] | (seen & (label != now["label"]))
        return {
            "margin": processes.values_of_owner(now["margin"], mine, torch.nan),
            "prediction": processes.values_of_owner(now["prediction"], mine, NOT_SEEN),
            "label": label,
            "moved": processes.values_of_owner(moved.int(), processes.is_first_owner(moved), 0) > 0,
        }

    def _discard_changed(self, now: dict[str, Tensor], seen: Tensor) -> None:
        """Discard earlier epochs of samples whose label has changed, with one warning per recorder."""
        moved = seen & (now["moved"] | ((self._label >= 0) & (self._label != now["label"])))
        if not bool(moved.any()):
            return
        for before, prediction in zip(self._margin, self._prediction, strict=True):
            before[moved], prediction[moved] = torch.nan, NOT_SEEN
        if not self._warned:
            self._warned = True
            first = int(moved.nonzero()[0])
            message = LABEL_CHANGED.format(
                count=int(moved.sum()),
                seen=int(seen.sum()),
                first=first,
                old=int(self._label[first]) if self._label[first] >= 0 else "one label",
                new=int(now["label"][first]),
            )
            warnings.warn(message, stacklevel=3)


def _shape(num_samples: int | Sequence[int]) -> tuple[int, ...]:
    sizes = num_samples if isinstance(num_samples, (tuple, list, torch.Size)) else (num_samples,)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise ValueError(
                f"num_samples={num_samples!r} must be the size of the training data, such as len(dataset), or"
                " a tuple of sizes"
            )
    if not sizes:
        raise ValueError("num_samples=() has no sizes")
    return tuple(map(int, sizes))


def _stacked(columns: list[Tensor], empty: Tensor) -> Tensor:
    with torch.autocast("cpu", enabled=False):  # which does not stack float16
        return torch.stack(columns) if columns else empty


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, np.ndarray) and not values.flags.writeable:
        values = values.copy()  # torch warns about read-only arrays
    return torch.as_tensor(values)
