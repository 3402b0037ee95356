"""Runs on a Ray cluster: the one that is there, or one on this machine.

A run whose worker is killed is given to another one, which goes on from the last checkpoint. The folder of
the runs must be one that all machines see. Which cluster it is Ray reads from its own variables: RAY_ADDRESS,
and RAY_AUTH_TOKEN where the cluster asks for a token.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from ..devices.device import pick_device
from ..dynamics.run_folder import RESULT, RunFolder
from ..papers.running import NEEDS_RAY
from ..processes import Interruption
from ..train import Config, Interrupted
from ..train.comparison.runs import ComparisonStopped, ComparisonWatcher
from ..train.comparison.workers import POLL, train_one

RETRIES = 10
"""So many deaths of its worker a run survives."""


def compare_with_ray(
    configs: Sequence[Config], *, jobs: int | None = None, watcher: ComparisonWatcher | None = None
) -> Mapping[int, str]:
    """Train every config that is not finished; what went wrong, by number.

    Args:
        jobs: runs per GPU where GPUs are used, else runs per machine of this size; by default one per GPU or
            core.
    """
    watcher, share = watcher or ComparisonWatcher(), share_of_machine(configs, jobs)
    left = [number for number, config in enumerate(configs) if not _has_result(config)]
    problems: dict[int, str] = {}

    def tell(number: int, words: str | None) -> None:
        if words is not None:
            problems[number] = words
        else:
            watcher.news(configs[number], "epoch", RunFolder(str(configs[number].out)).metrics[-1])
        watcher.news(configs[number], "finished" if words is None else "failed", words)

    watcher.begin(configs, len(configs) - len(left))
    if not left:
        watcher.end()
        return problems
    with cluster() as ray, Interruption() as interruption:
        try:
            task = ray.remote(_train).options(max_retries=RETRIES, **share)
            waiting = {task.remote(_everywhere(configs[number]), _environment()): number for number in left}
            while waiting and interruption.received is None:
                for done in ray.wait(list(waiting), timeout=POLL)[0]:
                    tell(waiting.pop(done), _problem(ray, done))
            _stop(ray, list(waiting))
        finally:
            watcher.end()
    if interruption.received is not None:
        raise ComparisonStopped(interruption.received, sum(map(_has_result, configs)), len(configs))
    return problems


@contextmanager
def cluster() -> Iterator[Any]:
    """The module ray, connected; a connection made here ends here. What Ray prints goes to stderr."""
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise ValueError(NEEDS_RAY) from None
    mine = not ray.is_initialized()
    with redirect_stdout(sys.stderr):
        if mine:
            ray.init(log_to_driver=False, include_dashboard=False, logging_level="ERROR")
        try:
            yield ray
        finally:
            if mine:
                ray.shutdown()


def share_of_machine(configs: Sequence[Config], jobs: int | None) -> dict[str, float]:
    """What of a machine one run is given.

    Example:
        >>> share_of_machine([Config(device="cpu")], None)
        {'num_cpus': 1}
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    if any(pick_device(config.device).type != "cpu" for config in configs[:1]):
        return {"num_cpus": 1, "num_gpus": 1 / (jobs or 1)}
    return {"num_cpus": 1 if jobs is None else max(1, (os.cpu_count() or 1) // jobs)}


def _train(config: Config, environment: Mapping[str, str]) -> str | None:
    """On a worker: a run to its end, or what went wrong."""
    os.environ.update(environment)
    problems: list[str] = []
    try:
        train_one(config, lambda what, details: problems.append(details) if what == "failed" else None)
    except Interrupted:
        return "stopped"
    return problems[0] if problems else None


def _problem(ray: Any, done: Any) -> str | None:
    try:
        return None if (words := ray.get(done)) is None else str(words)
    except ray.exceptions.RayError as problem:
        return f"the worker ended: {type(problem).__name__}"


def _stop(ray: Any, left: list[Any]) -> None:
    """Ask the runs that are left to save where they are, and wait until they have."""
    for one in left:
        ray.cancel(one)
    if left:
        ray.wait(left, num_returns=len(left), timeout=60)


def _has_result(config: Config) -> bool:
    return (Path(str(config.out)) / RESULT).is_file()


def _everywhere(config: Config) -> Config:
    """Workers stand in a folder of their own."""
    return config.replace(out=Path(str(config.out)).expanduser().resolve().as_posix())


def _environment() -> dict[str, str]:
    """Where data lie, as this process sees it."""
    return {name: value for name, value in os.environ.items() if name.startswith("NOISEPROOF_")}
