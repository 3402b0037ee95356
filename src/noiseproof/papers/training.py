"""Train the runs of a plan: finished ones are kept, interrupted ones go on, failed ones are told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..dynamics.run_folder import CONFIG, RESULT
from ..train import Config, Interrupted, RunExistsError
from ..train.compare_runs import ComparisonStopped, ComparisonWatcher, cores, usual_jobs
from ..train.compare_workers import train_all, train_one
from ..train.interrupt import Interruption


def train(
    runs: Mapping[str, Config], *, jobs: int | None = None, watcher: ComparisonWatcher | None = None
) -> dict[str, str]:
    """Train what is not finished, ``jobs`` at a time; what went wrong, by key."""
    watcher, keys, problems = watcher or ComparisonWatcher(), list(runs), dict[str, str]()
    left = [(number, runs[key]) for number, key in enumerate(keys) if not is_finished(runs[key])]

    def tell(number: int, what: str, details: Any) -> None:
        if what == "failed":
            problems[keys[number]] = str(details)
        watcher.news(runs[keys[number]], what, details)

    watcher.begin(list(runs.values()), len(runs) - len(left))
    try:
        with Interruption() as interruption:
            _train(left, jobs, tell, interruption)
    finally:
        watcher.end()
    if interruption.received is not None:
        finished = sum(is_finished(config) for config in runs.values())
        raise ComparisonStopped(interruption.received, finished, len(runs))
    return problems


def _train(left: list[tuple[int, Config]], jobs: int | None, tell: Any, interruption: Interruption) -> None:
    if not left:
        return
    jobs = usual_jobs([config for _, config in left]) if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    if jobs > 1:
        train_all(left, jobs, tell, interruption, max(1, cores() // jobs))
        return
    for number, config in left:
        try:
            train_one(config, partial(tell, number))
        except Interrupted as stop:
            interruption.received = stop.number
        if interruption.received is not None:
            return


def is_finished(config: Config) -> bool:
    """Whether its folder holds its result; a run of another config there is an error."""
    folder = Path(str(config.out))
    if not (folder / CONFIG).is_file():
        return False
    if found := Config.load(folder / CONFIG).differences(config):
        raise RunExistsError(
            f"{folder} is a run of another config ({'; '.join(found)}): choose another --out"
        )
    return (folder / RESULT).is_file()
