"""A recipe in fewer epochs: the same shape of the schedule, in less time."""

from __future__ import annotations

import inspect
from typing import Any

from ..data.spec import parse_source
from ..grammar import call
from ..train.schedule import SCHEDULES
from .filling import Settings

SAMPLES = {"mnist": 60_000, "cifar10": 50_000, "cifar100": 50_000, "cifar_n": 50_000, "vehicles10": 5_000}
"""Training samples, to turn iterations into epochs."""
TIMES = ("period", "warmup")


def shortened(settings: Settings, epochs: int) -> dict[str, Any]:
    """The settings with so many epochs; milestones and periods of the schedule move along.

    Example:
        >>> settings = {"data": "cifar10", "epochs": 120, "schedule": 'step(milestones="40,80")'}
        >>> shortened(settings, 12)
        {'data': 'cifar10', 'schedule': "step(milestones='4,8')", 'epochs': 12}
    """
    if epochs < 1:
        raise ValueError(f"epochs={epochs} must be at least 1")
    left = {name: value for name, value in settings.items() if name not in ("epochs", "iterations")}
    factor = epochs / recipe_epochs(settings)
    if "schedule" in left:
        left["schedule"] = scaled(left["schedule"], factor)
    return left | {"epochs": epochs}


def recipe_epochs(settings: Settings) -> float:
    """Epochs of a recipe that is given in epochs or in iterations.

    Example:
        >>> recipe_epochs({"data": "cifar10", "iterations": 39_100, "batch_size": 128})
        100.0
    """
    if settings.get("iterations") is None:
        return float(settings["epochs"])
    name, _ = parse_source(settings["data"])
    if name not in SAMPLES:
        raise ValueError(f"cannot turn iterations into epochs: the size of {name} is not known")
    return float(settings["iterations"] / -(-SAMPLES[name] // settings["batch_size"]))


def scaled(schedule: str, factor: float) -> str:
    """A schedule whose times are multiplied, each at least 1.

    Example:
        >>> scaled('every(period=5000, by="iteration")', 0.01)
        "every(period=50, by='iteration')"
    """
    known = {name: inspect.signature(made).parameters for name, made in SCHEDULES.items()}
    name, options = call(schedule, "schedule", known)
    for word, value in options.items():
        if word in TIMES and value:
            options[word] = max(1, round(float(value) * factor))
        elif word == "milestones":
            times = [max(1, round(int(time) * factor)) for time in str(value).split(",")]
            options[word] = ",".join(map(str, times))
    told = ", ".join(f"{word}={value!r}" for word, value in options.items())
    return f"{name}({told})" if told else name
