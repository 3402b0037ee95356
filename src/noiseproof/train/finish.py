"""The end of a run: weights, what the network says, and the numbers that count."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..atomic import write_tensors
from ..data import LabelledData
from ..dynamics import subset_accuracies
from ..dynamics.run_folder import MODEL, OUTPUTS
from .evaluate import predict_features
from .keeper import Keeper
from .measure import logits_of
from .session import Session
from .task import Task

MOST_VALUES = 1 << 27
"""Probabilities that are kept; larger tables are left out."""
FEATURES = 1000
"""Test samples whose features are kept, for pictures."""


def finish(session: Session, task: Task, keeper: Keeper) -> None:
    """Write everything a finished run has; the result comes last and says that the rest is there."""
    write_tensors(keeper.folder / MODEL, session.model.state_dict(), checked=True)
    train = logits_of(session, task.train)
    write_tensors(keeper.folder / OUTPUTS, _outputs(session, task, train), checked=True)
    fitted = subset_accuracies(train.argmax(1), task.train.label, task.train.clean_label)
    keeper.close(session, summary(keeper.lines(), session.best, fitted))


def summary(
    lines: list[dict[str, Any]], selected: dict[str, Any] | None, fitted: dict[str, float | None]
) -> dict[str, Any]:
    """Final and best beside each other; ``selected`` is the epoch validation data chose.

    ``best`` is the maximum over the evaluations on test data, as papers print it: a number to compare
    with theirs, never used to choose anything.
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
    found: dict[str, Tensor] = {}
    if train.numel() <= MOST_VALUES:
        found["train_probability"] = train.softmax(1).half()
    judged = task.validation if session.config.validation_labels == "given" else None
    for part, data in (("validation", judged), ("test", task.test)):
        if data is None:
            continue
        logits = logits_of(session, data)
        found |= {f"{part}_label": data.label.cpu(), f"{part}_index": data.index.cpu()}
        if logits.numel() <= MOST_VALUES:
            found[f"{part}_probability"] = logits.softmax(1).half()
    return found if task.test is None else found | _features(session, task.test)


def _features(session: Session, test: LabelledData) -> dict[str, Tensor]:
    few = test.subset(torch.arange(min(FEATURES, len(test))))
    try:
        features = predict_features(session.model, few, session.views.evaluation, device=session.device)
    except (ValueError, TypeError):  # a network of the user without a linear layer
        return {}
    return {"test_features": features.half()}
