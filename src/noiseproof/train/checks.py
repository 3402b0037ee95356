"""A config is checked when it is made: types, ranges, and every spec it holds."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from .. import losses, methods, noise
from ..data import augmentation
from ..losses.checks import choice
from .optimizer import parse_optimizer
from .schedule import get_schedule

if TYPE_CHECKING:
    from .config import Config

PRECISIONS = ("fp32", "bf16")
LOOPS = ("auto", "plain", "graph")
TEXT = ("data", "model", "loss", "optimizer", "schedule", "device", "loop")
SPECS: dict[str, Callable[[Any], object]] = {
    "loss": losses.get,
    "noise": noise.get,
    "method": methods.get,
    "optimizer": parse_optimizer,
    "schedule": get_schedule,
    "augment": augmentation,
}
WHOLE = {
    "batch_size": 1,
    "epochs": 1,
    "iterations": 1,
    "patience": 1,
    "evaluate_every": 1,
    "seed": 0,
    "noise_seed": 0,
}
LARGEST = 1 << 62


def check_config(config: Config) -> None:
    """Raise for the first setting that cannot be used, by name."""
    _check_types(config)
    if config.epochs is not None and config.iterations is not None:
        raise ValueError(f"epochs={config.epochs} and iterations={config.iterations}: give one of them")
    _check_number("lr", config.lr, "lr > 0", lambda v: v > 0)
    _check_number("momentum", config.momentum, "0 <= momentum < 1", lambda v: 0 <= v < 1)
    _check_number("weight_decay", config.weight_decay, "weight_decay >= 0", lambda v: v >= 0)
    _check_number("dropout", config.dropout, "0 <= dropout < 1", lambda v: 0 <= v < 1)
    _check_number("validation", config.validation, "0 <= validation < 1", lambda v: 0 <= v < 1)
    _check_number(
        "checkpoint_seconds", config.checkpoint_seconds, "checkpoint_seconds >= 0", lambda v: v >= 0
    )
    if config.clip is not None:
        _check_number("clip", config.clip, "clip > 0", lambda v: v > 0)
    choice("config", "precision", config.precision, PRECISIONS)
    choice("config", "loop", config.loop, LOOPS)
    choice("config", "validation_labels", config.validation_labels, ("given", "clean"))
    if config.patience is not None and not config.validation:
        raise ValueError("patience needs a validation split: give validation=0.1 or so")
    if config.out is not None and not config.out.strip():
        raise ValueError(f"out={config.out!r} names no folder: give one such as runs/first, or leave it out")
    _check_kinds(config)
    _check_specs(config)


def _check_types(config: Config) -> None:
    for name in TEXT:
        if not isinstance(getattr(config, name), str):
            raise TypeError(f"{name} must be a string, got {getattr(config, name)!r}")
    for name in ("test", "noise", "weights", "method", "augment", "out"):
        if not isinstance(getattr(config, name), str | None):
            raise TypeError(f"{name} must be a string or None, got {getattr(config, name)!r}")
    for name in ("record", "exact_noise"):
        if not isinstance(getattr(config, name), bool):
            raise TypeError(f"{name} must be true or false, got {getattr(config, name)!r}")
    for name, least in WHOLE.items():
        value = getattr(config, name)
        if value is None and name not in ("batch_size", "evaluate_every", "seed"):
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        if not least <= value < LARGEST:
            raise ValueError(f"{name}={value} is out of range, it must satisfy {least} <= {name} < 2**62")


def _check_number(name: str, value: object, rule: str, holds: Callable[[float], bool]) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not (math.isfinite(value) and holds(value)):
        raise ValueError(f"{name}={value!r} is out of range, it must satisfy {rule}")


def _check_kinds(config: Config) -> None:
    """Raise for a method that is given as a loss, and the other way round."""
    known: dict[str, Container[str]] = {"loss": losses.LOSSES, "method": methods.METHODS}
    for mine, other in (("loss", "method"), ("method", "loss")):
        spec = getattr(config, mine) or ""
        name = spec.partition("(")[0].strip()
        if name in known[other] and name not in known[mine]:
            raise ValueError(
                f"{mine}: {name!r} is a {other}, not a {mine}: give it as --{other} {shlex.quote(spec)} and"
                f" not as {mine}"
            )


def _check_specs(config: Config) -> None:
    for name, read in SPECS.items():
        value = getattr(config, name)
        if value is None:
            continue
        try:
            read(value)
        except (ValueError, TypeError) as problem:
            raise type(problem)(f"{name}: {problem}") from None
