"""What a network says about data, in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..data import LabelledData
from ..dynamics import accuracy, class_accuracy
from ..models import forward_with_features
from .capture import alone

Prepare = Callable[[Tensor], Tensor]
ROWS = 1024
"""Samples looked at together."""


def predict_logits(
    model: nn.Module, data: LabelledData, prepare: Prepare, *, device: torch.device, autocast: bool = False
) -> Tensor:
    """Logits (N, C) float32 on the CPU; the network's mode and the random state stay as they were."""
    return torch.cat([logits for logits, _ in _evaluated(model, data, prepare, device, autocast, False)])


def predict_features(
    model: nn.Module, data: LabelledData, prepare: Prepare, *, device: torch.device, autocast: bool = False
) -> Tensor:
    """Features (N, D) float32 on the CPU."""
    found = [features for _, features in _evaluated(model, data, prepare, device, autocast, True)]
    return torch.cat([features for features in found if features is not None])


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
) -> Iterator[tuple[Tensor, Tensor | None]]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.inference_mode():
            for start in range(0, len(data), ROWS):
                batch = data.batch(slice(start, start + ROWS), device=device)
                with alone, torch.autocast(device.type, torch.bfloat16, enabled=autocast):
                    inputs = prepare(batch.input)
                    logits, seen = forward_with_features(model, inputs) if features else (model(inputs), None)
                yield logits.float().cpu(), None if seen is None else seen.float().cpu()
    finally:
        for module, training in modes.items():
            module.training = training
