"""Engines: what trains several runs and fits several parts, this machine or a Ray cluster."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

ENGINES = ("local", "ray")
NEEDS_RAY = "engine 'ray' needs Ray: pip install 'noiseproof[ray]'"


def check_engine(name: str) -> None:
    """Refuse an engine that is unknown or not installed."""
    if other_engine(name) is not None and importlib.util.find_spec(name) is None:
        raise ValueError(NEEDS_RAY)


def other_engine(name: str) -> ModuleType | None:
    """The module with ``train_runs`` and ``fit_parts`` of an engine; None for this machine.

    Example:
        >>> other_engine("local")
        >>> other_engine("slurm")
        Traceback (most recent call last):
        ValueError: unknown engine 'slurm': choose 'local' or 'ray'
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}: choose {' or '.join(map(repr, ENGINES))}")
    return None if name == "local" else importlib.import_module(f"noiseproof.integrations.{name}")
