"""The metrics of an epoch."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..data import LabelledData
from ..dynamics import hybrid_accuracy, subset_accuracies
from .evaluate import predict_logits, score
from .session import Session
from .task import Task


def measure(session: Session, task: Task) -> dict[str, Any]:
    """What is known at the end of an epoch, as one line of plain values; None where nothing can be said.

    Training accuracies are those of the predictions made while training (the record); the result of the
    run has them in evaluation mode as well.
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
    return line | {"hybrid_accuracy": _hybrid(task, line)}


def logits_of(session: Session, data: LabelledData) -> Tensor:
    bf16 = session.config.precision == "bf16"
    return predict_logits(session.model, data, session.views.evaluation, device=session.device, autocast=bf16)


def _score(session: Session, data: LabelledData | None, prefix: str) -> dict[str, Any]:
    if data is None:
        return {f"{prefix}_accuracy": None, f"{prefix}_class_accuracy": None}
    return score(logits_of(session, data), data, prefix)


def _hybrid(task: Task, line: dict[str, Any]) -> float | None:
    count = 0 if task.test is None else len(task.test)
    return hybrid_accuracy(line.get("test_accuracy"), count, line["intact_accuracy"], len(task.train))
