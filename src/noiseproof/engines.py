"""Engines that train several runs and fit several folds: this machine or a Ray cluster."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

ENGINES = ("local", "ray")
NEEDS_RAY = "engine 'ray' needs Ray: pip install 'noiseproof[ray]'"


def check_engine(name: str) -> None:
    """Raise ValueError if the engine is unknown or not installed."""
    if engine_module(name) is not None and importlib.util.find_spec(name) is None:
        raise ValueError(NEEDS_RAY)


def engine_module(name: str) -> ModuleType | None:
    """The module that defines ``train_runs`` and ``fit_parts``; None for the local engine.

    Example:
        >>> engine_module("local")
        >>> engine_module("slurm")
        Traceback (most recent call last):
        ValueError: unknown engine 'slurm': choose 'local' or 'ray'
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose {' or '.join(map(repr, ENGINES))}")
    return None if name == "local" else importlib.import_module(f"noiseproof.integrations.{name}")
