"""Train the runs of a plan: finished ones are kept, interrupted ones go on, failed ones are told."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from ..dynamics.run_folder import RESULT
from ..train import Config
from ..train.compare_runs import ComparisonWatcher, compare
from ..train.device import pick_device
from .ray_engine import NEEDS_RAY, compare_with_ray

Engine: TypeAlias = Callable[..., "Mapping[int, str]"]


def _here(configs: list[Config], *, jobs: int | None, watcher: ComparisonWatcher | None) -> dict[int, str]:
    outcomes = compare(configs, jobs=jobs, watcher=watcher).outcomes
    return {number: one.problem for number, one in enumerate(outcomes) if one.problem is not None}


ENGINES: dict[str, Engine] = {"local": _here, "ray": compare_with_ray}
"""Name to what trains configs and says what went wrong, by their number."""


def check_options(engine: str, device: str, jobs: int | None) -> None:
    """Refuse, before anything is written, what no run could be trained with."""
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}: choose {' or '.join(map(repr, ENGINES))}")
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        raise ValueError(NEEDS_RAY)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    pick_device(device)


def train(
    runs: Mapping[str, Config],
    *,
    jobs: int | None = None,
    watcher: ComparisonWatcher | None = None,
    engine: str = "local",
) -> dict[str, str]:
    """Train what is not finished, ``jobs`` at a time; what went wrong, by key."""
    keys = list(runs)
    problems = ENGINES[engine](list(runs.values()), jobs=jobs, watcher=watcher) if runs else {}
    return {keys[number]: words for number, words in problems.items()}


def is_finished(config: Config) -> bool:
    """Whether its folder holds its result."""
    return (Path(str(config.out)) / RESULT).is_file()
