"""The engine "ray": runs and folds as tasks of a Ray cluster, an existing one or one started on this machine.

If the worker of a run is killed, another one resumes the run from its last checkpoint. All machines must
share the folder of the runs. Ray reads the address of the cluster from RAY_ADDRESS, and a token, if required,
from RAY_AUTH_TOKEN.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, NamedTuple

import torch
from threadpoolctl import threadpool_limits

from ..devices.device import THREAD_VARIABLES, cores, pick_device, share_threads
from ..devices.distributed import require_one_process
from ..dynamics.run_folder import RunFolder
from ..engines import NEEDS_RAY
from ..processes import Interruption
from ..train import Config, Interrupted, compare
from ..train.comparison.runs import ComparisonWatcher
from ..train.comparison.workers import POLL, Notify, train_one
from ..train.config import run_folder

RETRIES = 10
"""Maximum number of times that a run is given to a new worker after its worker has died."""


def compare_with_ray(
    configs: Sequence[Config], *, jobs: int | None = None, watcher: ComparisonWatcher | None = None
) -> Mapping[int, str]:
    """``train.compare`` with ``engine="ray"``; returns the error messages of failed runs by number.

    Args:
        jobs: runs per GPU where GPUs are used, else runs per machine of this size; by default one per GPU or
            core.
    """
    outcomes = compare(configs, jobs=jobs, watcher=watcher, engine="ray").outcomes
    return {number: one.problem for number, one in enumerate(outcomes) if one.problem is not None}


def train_runs(
    runs: Sequence[tuple[int, Config]], jobs: int | None, notify: Notify, interruption: Interruption
) -> None:
    """Train all runs, as many at a time as the cluster has resources for; a signal ends it early."""
    share = share_of_machine([config for _, config in runs], jobs)
    if not runs:
        return
    settings = _WorkerSettings.current(
        torch.get_num_threads() if jobs == 1 else max(1, cores() // (jobs or cores()))
    )
    with cluster() as ray, Interruption() as asked:
        task = _task(ray, _train, share, RETRIES)
        tasks = [task.remote(_with_absolute_folder(config), settings) for _, config in runs]
        for one, done in _as_completed(ray, tasks, asked):
            (number, config), problem = runs[one], _problem(ray, done)
            if problem is None:
                notify(number, "epoch", RunFolder(run_folder(config)).metrics[-1])
            notify(number, "finished" if problem is None else "failed", problem)
    interruption.received = interruption.received or asked.received


def fit_parts(
    fit: Callable[[Any], Any], parts: Sequence[Any], on_begin: Callable[[int], None], device: str = "cpu"
) -> list[Any]:
    """Call ``fit`` for every part, each with as many cores as this process uses, or with a GPU.

    ``on_begin`` is called with the number of parts already fitted.
    """
    require_one_process("cross-fitting with Ray")
    found, threads = dict[int, Any](), torch.get_num_threads()
    share = share_of_machine([Config(device=device)], None)
    share |= {} if "num_gpus" in share else {"num_cpus": threads}
    with cluster() as ray, Interruption() as asked:
        task, shared, settings = _task(ray, _fit, share), ray.put(fit), _WorkerSettings.current(threads)
        tasks = [task.remote(shared, part, settings) for part in parts]
        on_begin(0)
        for number, done in _as_completed(ray, tasks, asked):
            found[number] = _fitted(ray, done)
            if len(found) < len(parts):
                on_begin(len(found))
    asked.raise_again()
    return [found[number] for number in range(len(parts))]


@contextmanager
def cluster() -> Iterator[Any]:
    """The connected module ray; closes a connection that it opened. Output of Ray goes to stderr."""
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise ValueError(NEEDS_RAY) from None
    mine, before = not ray.is_initialized(), signal.getsignal(signal.SIGTERM)
    with redirect_stdout(sys.stderr):
        if mine:
            ray.init(log_to_driver=False, include_dashboard=False, logging_level="ERROR")
            with suppress(ValueError, TypeError):  # outside the main thread Ray has not replaced it
                signal.signal(signal.SIGTERM, before)
        try:
            yield ray
        finally:
            if mine:
                ray.shutdown()


def share_of_machine(configs: Sequence[Config], jobs: int | None) -> dict[str, float]:
    """The resources of a machine that one run gets.

    Example:
        >>> share_of_machine([Config(device="cpu")], None)
        {'num_cpus': 1}
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs} must be at least 1")
    if any(pick_device(config.device).type != "cpu" for config in configs[:1]):
        return {"num_cpus": 1, "num_gpus": 1 / (jobs or 1)}
    return {"num_cpus": 1 if jobs is None else max(1, cores() // jobs)}


class _WorkerSettings(NamedTuple):
    """Settings with which a worker computes the same as this process."""

    threads: int
    folder: str
    environment: dict[str, str]

    @classmethod
    def current(cls, threads: int) -> _WorkerSettings:
        names = [name for name in os.environ if name.startswith("NOISEPROOF_") or name in THREAD_VARIABLES]
        return cls(threads, os.getcwd(), {name: os.environ[name] for name in names})

    def apply(self) -> None:
        with suppress(OSError):  # without the folder, only relative paths fail
            os.chdir(self.folder)
        for name in THREAD_VARIABLES:  # Ray sets one
            os.environ.pop(name, None)
        os.environ.update(self.environment)
        share_threads(self.threads)
        threadpool_limits(self.threads)


def _train(config: Config, settings: _WorkerSettings) -> str | None:
    """Train a run on a worker; returns the error message if it failed."""
    settings.apply()
    problems: list[str] = []
    try:
        train_one(config, lambda what, details: problems.append(details) if what == "failed" else None)
    except Interrupted:
        return "stopped"
    return problems[0] if problems else None


def _fit(fit: Callable[[Any], Any], part: Any, settings: _WorkerSettings) -> Any:
    """Fit one part on a worker."""
    settings.apply()
    return fit(part)


def _task(ray: Any, function: Callable[..., Any], share: dict[str, float], retries: int = 3) -> Any:
    """A task that requests at most the cores of the largest machine; with more it would never start."""
    limit = max(node["Resources"].get("CPU", 1) for node in ray.nodes())
    share = share | {"num_cpus": min(share["num_cpus"], limit)}
    return ray.remote(function).options(max_retries=retries, **share)


def _as_completed(ray: Any, tasks: Sequence[Any], interruption: Interruption) -> Iterator[tuple[int, Any]]:
    """Number and task in the order of completion; a signal or an error stops the others."""
    left = {task: number for number, task in enumerate(tasks)}
    try:
        while left and interruption.received is None:
            for done in ray.wait(list(left), timeout=POLL)[0]:
                yield left.pop(done), done
    finally:
        _stop(ray, list(left))


def _problem(ray: Any, done: Any) -> str | None:
    try:
        return None if (words := ray.get(done)) is None else str(words)
    except ray.exceptions.RayError as problem:
        return _reason(ray, problem)


def _fitted(ray: Any, done: Any) -> Any:
    try:
        return ray.get(done)
    except ray.exceptions.RayError as problem:
        cause = getattr(problem, "cause", problem)
        if isinstance(cause, ray.exceptions.RayError):
            raise ChildProcessError(_reason(ray, problem)) from None
        raise cause from None


def _reason(ray: Any, problem: Exception) -> str:
    """Why a worker ended, such as a missing module, too little memory or a signal."""
    has_cause = isinstance(problem, ray.exceptions.RayTaskError)
    return f"the worker ended: {str(problem).splitlines()[-1] if has_cause else type(problem).__name__}"


def _stop(ray: Any, left: list[Any]) -> None:
    """Cancel the remaining tasks and wait until they have saved a checkpoint."""
    for one in left:
        ray.cancel(one)
    if left:
        ray.wait(left, num_returns=len(left), timeout=60)


def _with_absolute_folder(config: Config) -> Config:
    """The config with an absolute run folder, as workers have other working directories."""
    return config.replace(out=run_folder(config).resolve().as_posix())
