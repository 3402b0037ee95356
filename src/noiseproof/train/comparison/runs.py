"""Several runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...atomic import refuse_link
from ...devices.device import cores, pick_device
from ...devices.distributed import refuse_ranks
from ...dynamics.run_folder import CONFIG, RESULT, RunFolder
from ...engines import engine_module
from ...processes import Interrupted, Interruption
from ..config import Config, run_folder
from ..resume import DamagedRunError, RunExistsError, check_all_finished, config_of
from ..run import Run
from .streams import can_share, room, train_together
from .table import Comparison, Outcome
from .workers import train_all, train_one


class ComparisonStopped(Interrupted):
    """A comparison that was asked to stop: finished runs stay, the others have saved where they were."""

    def __init__(self, number: int, finished: int, runs: int, problems: Sequence[str] = ()) -> None:
        super().__init__(number, Path(), epoch=0, step=0)
        name = str(self).partition(" after ")[0]
        failed = f", {len(problems)} failed ({problems[0]})" if problems else ""
        self.args = (
            f"{name} with {finished} of {runs} runs finished{failed}; run the same command to resume",
        )


class ComparisonWatcher:
    """Does nothing; subclasses show how a comparison gets on."""

    def begin(self, configs: Sequence[Config], kept: int) -> None:
        """So many of the runs were finished before."""

    def news(self, config: Config, what: str, details: Any) -> None:
        """``begin`` (done, steps), ``share``, ``epoch`` (its metrics), ``finished`` or ``failed`` (why)."""

    def end(self) -> None:
        """No run is left, or the comparison was stopped."""


def compare(
    configs: Sequence[Config],
    *,
    jobs: int | None = None,
    watcher: ComparisonWatcher | None = None,
    engine: str = "local",
) -> Comparison:
    """Train every config and set the results side by side, mean and deviation over seeds.

    Runs that are finished are kept and not run again, interrupted ones go on. A run that fails, whose process
    is killed or whose folder is damaged is in ``failed`` of the result and does not stop the others.

    Args:
        configs: as ``grid`` makes them; runs that differ in their seed alone make one row.
        jobs: runs at the same time; by default as many as there are cores. 1 trains in this process, more
            have processes of their own, which need the usual ``if __name__ == "__main__":`` in scripts.
            On a GPU runs with captured steps share this process (by default up to 8, as memory allows);
            others go one after the other.
        watcher: is told of the progress.
        engine: "local", or "ray": on a Ray cluster, with ``jobs`` per GPU or per machine.

    Example:
        >>> import tempfile
        >>> from noiseproof.train import grid
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shared = Config(noise="symmetric(0.2)", epochs=1)
        ...     runs = grid(shared, losses=["ce", "mae"], seeds=1, out=folder)
        ...     [(row.name, row.seeds) for row in compare(runs, jobs=1).rows]
        [('ce', [0]), ('mae', [0])]
    """
    refuse_ranks("a comparison")
    _check_configs(configs)
    train_runs = _train if (other := engine_module(engine)) is None else other.train_runs
    watcher, folders = watcher or ComparisonWatcher(), _folders(configs)
    damaged = {number: words for number, folder in enumerate(folders) if (words := _damage(folder))}
    sound = [number for number in range(len(configs)) if number not in damaged]
    left = [number for number in sound if not _is_finished(configs[number], folders[number])]
    check_all_finished([(configs[number], folders[number]) for number in sound if number not in left])
    problems: dict[int, str] = {}

    def tell(number: int, what: str, details: Any) -> None:
        if what == "failed":
            problems[number] = str(details)
        watcher.news(configs[number], what, details)

    watcher.begin(configs, len(sound) - len(left))
    try:
        for number, words in damaged.items():
            tell(number, "failed", words)
        with Interruption() as interruption:
            train_runs([(number, configs[number]) for number in left], jobs, tell, interruption)
    finally:
        watcher.end()
    if interruption.received is not None:
        told = list(problems.values())
        raise ComparisonStopped(interruption.received, sum(map(_has_result, folders)), len(folders), told)
    for number in [number for number in problems if number in sound and _has_result(folders[number])]:
        del problems[number]  # it was locked, and the other process has finished it
    return Comparison(
        [
            Outcome(config, folder, None if number in problems else Run(folder).result, problems.get(number))
            for number, (config, folder) in enumerate(zip(configs, folders, strict=True))
        ]
    )


def usual_jobs(configs: Sequence[Config]) -> int:
    """One for each core; on a GPU as many as have room there, if they can share it."""
    if pick_device(configs[0].device).type == "cpu":
        return cores()
    return room(configs[0]) if all(map(can_share, configs)) else 1


def _train(runs: list[tuple[int, Config]], jobs: int | None, tell: Any, interruption: Interruption) -> None:
    if not runs:
        return
    jobs = usual_jobs([config for _, config in runs]) if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    if jobs > 1 and all(can_share(config) for _, config in runs):
        train_together(runs, jobs, tell, interruption)
        return
    if jobs > 1:
        train_all(runs, jobs, tell, interruption, max(1, cores() // jobs))
        return
    for number, config in runs:
        try:
            train_one(config, partial(tell, number))
        except Interrupted as stop:
            interruption.received = stop.number
        if interruption.received is not None:
            return


def _has_result(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def _folders(configs: Sequence[Config]) -> list[Path]:
    folders = [run_folder(config) for config in configs]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("two runs of a comparison have the same folder: give each its own out, as grid does")
    for folder in folders:
        refuse_link(folder)
    return folders


def _check_configs(configs: object) -> None:
    if isinstance(configs, Config) or not isinstance(configs, Sequence):
        raise TypeError(f"compare takes a list of Configs, as grid makes it, got a {type(configs).__name__}")
    if not configs:
        raise ValueError("there is nothing to compare: give at least one config")
    for one in configs:
        if not isinstance(one, Config):
            hint = "write compare(grid(Config(...), losses=[...]))"
            raise TypeError(f"compare takes Configs, got {one!r}: {hint}")


def _damage(folder: Path) -> str | None:
    """Why a run that is there can be neither kept nor resumed."""
    if not (folder / CONFIG).is_file():
        return None
    try:
        config_of(folder)
    except DamagedRunError as problem:
        return str(problem)
    return RunFolder(folder).damage


def _is_finished(config: Config, folder: Path) -> bool:
    if not (folder / CONFIG).is_file():
        return False
    if found := config_of(folder).differences(config):
        raise RunExistsError(f"{folder} is a run of another config ({'; '.join(found)}): choose another out")
    return _has_result(folder)
