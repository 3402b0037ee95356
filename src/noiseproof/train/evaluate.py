"""Predictions of a network in evaluation mode, and the metrics of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..data import LabelledData
from ..devices.capture import capture_lock
from ..devices.distributed import Ranks
from ..dynamics import accuracy, class_accuracy, hybrid_accuracy, subset_accuracies
from ..methods import Outputs
from ..models import forward_with_features
from .session import Session
from .task import Task

Prepare = Callable[[Tensor], Tensor]
BATCH_SIZE = 1024
"""Batch size of evaluation."""


def predict_logits(
    model: nn.Module, data: LabelledData, prepare: Prepare, *, device: torch.device, autocast: bool = False
) -> Tensor:
    """Logits (N, C) float32 on the CPU; the mode of the network and the random state do not change."""
    return torch.cat([logits for logits, _ in _evaluated(model, data, prepare, device, autocast, False)])


def predict_features(
    model: nn.Module, data: LabelledData, prepare: Prepare, *, device: torch.device, autocast: bool = False
) -> Tensor:
    """Features (N, D) float32 on the CPU."""
    found = [features for _, features in _evaluated(model, data, prepare, device, autocast, True)]
    return torch.cat([features for features in found if features is not None])


def predict_outputs(
    model: nn.Module,
    data: LabelledData,
    prepare: Prepare,
    *,
    device: torch.device,
    autocast: bool = False,
    features: bool = False,
    ranks: Ranks | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Logits, and features if requested, on the CPU; with several ``ranks`` each computes a part."""
    ranks, size = ranks or Ranks(device), len(data)
    rows = ranks.rows(size, BATCH_SIZE)
    found = list(_evaluated(model, data, prepare, device, autocast, features, rows))
    seen = [part for _, part in found if part is not None]
    logits = ranks.joined(torch.cat([logits for logits, _ in found]), rows, size)
    return logits, ranks.joined(torch.cat(seen), rows, size) if seen else None


def score(logits: Tensor, data: LabelledData, prefix: str) -> dict[str, Any]:
    """Accuracy and class-wise accuracy under names that begin with ``prefix``."""
    prediction, label = logits.argmax(1), data.label.cpu()
    return {
        f"{prefix}_accuracy": accuracy(prediction, label),
        f"{prefix}_class_accuracy": class_accuracy(prediction, label, data.num_classes),
    }


def _evaluated(
    model: nn.Module,
    data: LabelledData,
    prepare: Prepare,
    device: torch.device,
    autocast: bool,
    features: bool,
    rows: slice | None = None,
) -> Iterator[tuple[Tensor, Tensor | None]]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    first, last = (0, len(data)) if rows is None else (rows.start, rows.stop)
    try:
        with torch.inference_mode():
            for start in range(first, last, BATCH_SIZE):
                batch = data.batch(slice(start, min(start + BATCH_SIZE, last)), device=device)
                with capture_lock, torch.autocast(device.type, torch.bfloat16, enabled=autocast):
                    inputs = prepare(batch.input)
                    logits, seen = forward_with_features(model, inputs) if features else (model(inputs), None)
                yield logits.float().cpu(), None if seen is None else seen.float().cpu()
    finally:
        for module, training in modes.items():
            module.training = training


def measure(session: Session, task: Task) -> dict[str, Any]:
    """The metrics of an epoch as a dict of plain values; None for unknown ones.

    Training accuracies are computed from the predictions recorded during training. The result of the run also
    has those in evaluation mode.
    """
    config = session.config
    last = session.step >= session.steps
    line: dict[str, Any] = {
        "epoch": session.epoch,
        "step": session.step,
        "lr": session.optimizer.param_groups[0]["lr"],
        **session.meter.read(),
    }
    if last or session.epoch % config.evaluate_every == 0:
        line |= _score(session, task.test, "test") | _score(session, task.validation, "validation")
    prediction = session.recorder.prediction.long().cpu()
    found = subset_accuracies(prediction, task.train.label, task.train.clean_label)
    line |= {f"{name}_accuracy": value for name, value in found.items()}
    count = 0 if task.test is None else len(task.test)
    hybrid = hybrid_accuracy(line.get("test_accuracy"), count, line["intact_accuracy"], len(task.train))
    return line | {"hybrid_accuracy": hybrid}


def logits_of(session: Session, data: LabelledData) -> Tensor:
    bf16 = session.config.precision == "bf16"
    prepare, ranks = session.views.evaluation, session.ranks
    return predict_outputs(
        session.predictor, data, prepare, device=session.device, autocast=bf16, ranks=ranks
    )[0]


class InEvaluation:
    """The networks of a session in evaluation mode, for methods between two epochs.

    ``line`` holds the metrics of the epoch that just ended.
    """

    def __init__(self, session: Session, task: Task, line: dict[str, Any]) -> None:
        self._session, self._task, self._line = session, task, line

    @property
    def is_best(self) -> bool:
        """Whether the epoch that just ended has the best validation accuracy so far."""
        best = self._session.best
        return best is not None and bool(best["epoch"] == self._session.epoch)

    @property
    def validation_accuracy(self) -> float | None:
        """Accuracy on validation data after this epoch; None without such data or with clean labels."""
        if self._session.config.validation_labels != "given":
            return None
        line = self._line
        if "validation_accuracy" not in line:  # an epoch that is not evaluated
            line = _score(self._session, self._task.validation, "validation")
        found: float | None = line["validation_accuracy"]
        return found

    def outputs(self, positions: Tensor | None = None, *, features: bool = False) -> tuple[Outputs, ...]:
        session = self._session
        data = session.train if positions is None else session.train.subset(positions)
        bf16 = session.config.precision == "bf16"
        found = [
            predict_outputs(
                network,
                data,
                session.views.evaluation,
                device=session.device,
                autocast=bf16,
                features=features,
                ranks=session.ranks,
            )
            for network in session.networks
        ]
        return tuple(
            Outputs(logits.to(session.device), None if seen is None else seen.to(session.device))
            for logits, seen in found
        )


def _score(session: Session, data: LabelledData | None, prefix: str) -> dict[str, Any]:
    if data is None:
        return {f"{prefix}_accuracy": None, f"{prefix}_class_accuracy": None}
    return score(logits_of(session, data), data, prefix)
