"""``compare``: train several runs and compare their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...atomic import refuse_link
from ...devices.device import cores, pick_device
from ...devices.distributed import require_one_process
from ...dynamics.run_folder import CONFIG, RESULT, RunFolder
from ...engines import engine_module
from ...processes import Interrupted, Interruption
from ..config import Config, run_folder
from ..resume import DamagedRunError, RunExistsError, check_all_finished, config_of
from ..run import Run
from .streams import can_share, runs_that_fit, train_in_threads
from .table import Comparison, Outcome
from .workers import train_in_processes, train_one


class ComparisonStopped(Interrupted):
    """A comparison was stopped by a signal: finished runs are kept, the others have saved a checkpoint."""

    def __init__(self, number: int, finished: int, runs: int, problems: Sequence[str] = ()) -> None:
        super().__init__(number, Path(), epoch=0, step=0)
        name = str(self).partition(" after ")[0]
        failed = f", {len(problems)} failed ({problems[0]})" if problems else ""
        self.args = (
            f"{name} with {finished} of {runs} runs finished{failed}; run the same command to resume",
        )


class ComparisonWatcher:
    """Base class whose methods do nothing; subclasses show the progress of a comparison."""

    def begin(self, configs: Sequence[Config], kept: int) -> None:
        """Called once at the start; ``kept`` is the number of runs that were finished before."""

    def update(self, config: Config, event: str, details: Any) -> None:
        """Called for each event of a run, with ``details`` in brackets: "begin" (done, steps), "share" (of
        finished steps), "epoch" (its metrics), "finished" (None) or "failed" (the error message)."""

    def end(self) -> None:
        """Called when all runs have ended or the comparison was stopped."""


def compare(
    configs: Sequence[Config],
    *,
    jobs: int | None = None,
    watcher: ComparisonWatcher | None = None,
    engine: str = "local",
) -> Comparison:
    """Train every config and compare the results: mean and standard deviation over seeds.

    Finished runs are kept and not run again, interrupted runs are resumed. A run that fails, whose process is
    killed or whose folder is damaged is in ``failed`` of the result and does not stop the others.

    Args:
        configs: such as the result of ``grid``; runs that differ only in their seed become one row.
        jobs: number of runs at the same time, by default the number of cores. With 1, runs train in this
            process; with more, in separate processes, so a script needs ``if __name__ == "__main__":``.
            On a GPU, runs with captured steps train in threads of this process (by default up to 8, as
            memory allows); other runs train one after the other.
        watcher: its methods are called with the progress of the runs.
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
    require_one_process("a comparison")
    _check_configs(configs)
    train_runs = _train if (other := engine_module(engine)) is None else other.train_runs
    watcher, folders = watcher or ComparisonWatcher(), _folders(configs)
    damaged = {number: reason for number, folder in enumerate(folders) if (reason := _damage(folder))}
    sound = [number for number in range(len(configs)) if number not in damaged]
    left = [number for number in sound if not _is_finished(configs[number], folders[number])]
    check_all_finished([(configs[number], folders[number]) for number in sound if number not in left])
    problems: dict[int, str] = {}

    def notify(number: int, event: str, details: Any) -> None:
        if event == "failed":
            problems[number] = str(details)
        watcher.update(configs[number], event, details)

    watcher.begin(configs, len(sound) - len(left))
    try:
        for number, reason in damaged.items():
            notify(number, "failed", reason)
        with Interruption() as interruption:
            train_runs([(number, configs[number]) for number in left], jobs, notify, interruption)
    finally:
        watcher.end()
    if interruption.received is not None:
        finished, failed = sum(map(_has_result, folders)), list(problems.values())
        raise ComparisonStopped(interruption.received, finished, len(folders), failed)
    for number in [number for number in problems if number in sound and _has_result(folders[number])]:
        del problems[number]  # another process had locked and has finished it
    return Comparison(
        [
            Outcome(config, folder, None if number in problems else Run(folder).result, problems.get(number))
            for number, (config, folder) in enumerate(zip(configs, folders, strict=True))
        ]
    )


def default_jobs(configs: Sequence[Config]) -> int:
    """The number of cores; on a GPU the number of runs that fit into its memory, or 1."""
    if pick_device(configs[0].device).type == "cpu":
        return cores()
    return runs_that_fit(configs[0]) if all(map(can_share, configs)) else 1


def _train(runs: list[tuple[int, Config]], jobs: int | None, notify: Any, interruption: Interruption) -> None:
    if not runs:
        return
    jobs = default_jobs([config for _, config in runs]) if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    if jobs > 1 and all(can_share(config) for _, config in runs):
        train_in_threads(runs, jobs, notify, interruption)
        return
    if jobs > 1:
        train_in_processes(runs, jobs, notify, interruption, max(1, cores() // jobs))
        return
    for number, config in runs:
        try:
            train_one(config, partial(notify, number))
        except Interrupted as stop:
            interruption.received = stop.number
        if interruption.received is not None:
            return


def _has_result(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def _folders(configs: Sequence[Config]) -> list[Path]:
    folders = [run_folder(config) for config in configs]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise ValueError("two runs have the same folder: give each a different out, as grid does")
    for folder in folders:
        refuse_link(folder)
    return folders


def _check_configs(configs: object) -> None:
    if isinstance(configs, Config) or not isinstance(configs, Sequence):
        raise TypeError(f"compare takes a list of Configs, such as grid(...), got a {type(configs).__name__}")
    if not configs:
        raise ValueError("there is nothing to compare: give at least one config")
    for one in configs:
        if not isinstance(one, Config):
            hint = "write compare(grid(Config(...), losses=[...]))"
            raise TypeError(f"compare takes Configs, got {one!r}: {hint}")


def _damage(folder: Path) -> str | None:
    """Why an existing run can be neither kept nor resumed; None if it can, or if there is none."""
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
