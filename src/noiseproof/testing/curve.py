"""A MarginLoss is a value and an emphasis that belong together. Other losses pass untested."""

from __future__ import annotations

import torch
from torch import Tensor

from ..losses import Loss, MarginLoss, margin
from .problem import CLASSES, assert_close, divides_by_the_batch, problem, value_and_gradient, variant

STEP = 1e-4
FAR = (-58.0, -50.0, -40.0, 40.0, 50.0, 58.0)


def check_emphasis_is_derivative(loss: Loss) -> None:
    if not isinstance(loss, MarginLoss):
        return
    points = _smooth_points(loss)
    slope = (_value(loss, points + STEP) - _value(loss, points - STEP)) / (2 * STEP)
    assert_close(-slope, _emphasis(loss, points), 1e-5)


def check_not_negative(loss: Loss) -> None:
    if isinstance(loss, MarginLoss):
        lowest = float(_emphasis(loss, torch.linspace(-100, 100, 2001, dtype=torch.float64)).min())
        assert lowest >= 0, f"the emphasis goes down to {lowest}"


def check_decreasing(loss: Loss) -> None:
    if isinstance(loss, MarginLoss):
        value = _value(loss, torch.linspace(-30, 30, 601, dtype=torch.float64))
        rise = float((value[1:] - value[:-1]).max())
        assert rise <= 1e-9 * float(value.abs().max()), f"the value rises by {rise}"


def check_gradient_is_emphasis(loss: Loss) -> None:
    if not isinstance(loss, MarginLoss) or divides_by_the_batch(loss):
        return
    logits, target = problem()
    _, gradient = value_and_gradient(variant(loss, reduction="sum"), logits, target)
    wanted = 2 * _emphasis(loss, margin(logits, target))
    assert_close(gradient.abs().sum(1), wanted)
    assert_close(gradient.sum(1), torch.zeros_like(wanted))


def _smooth_points(loss: MarginLoss) -> Tensor:
    near, far = torch.linspace(-30, 30, 1201, dtype=torch.float64), torch.tensor(FAR, dtype=torch.float64)
    points = torch.cat([near, far]) + 0.0123
    for kink in loss.kinks:
        points = points[(points - kink).abs() > 2 * STEP]
    return points


def _value(loss: MarginLoss, points: Tensor) -> Tensor:
    return loss.evaluate(points, num_classes=CLASSES)[0]


def _emphasis(loss: MarginLoss, points: Tensor) -> Tensor:
    return loss.evaluate(points, num_classes=CLASSES)[1]
