"""Several runs on one GPU: each in a thread of the same process, on a separate CUDA stream.

Captured steps need little CPU time, so one process can train several runs and their kernels run at the same
time. Kernels of different processes would not: a GPU switches between processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import torch

from ...data import LabelledData
from ...devices.device import pick_device
from ...devices.distributed import require_one_process
from ...methods import get as get_method
from ...models.registry import BUILT_IN
from ...models.spec import parse as parse_model
from ...processes import Interrupted, Interruption
from ..callbacks import Watcher
from ..config import Config
from ..graph import declares_phases
from ..loop import fit, train
from ..optimizer import parse_optimizer
from ..run import Run
from .workers import POLL, Notify, train_one

MAX_RUNS = 8
"""Runs at the same time by default: 12 are not faster (benchmarks/logs/training_h200_first.log)."""
MAX_STREAMS = 24
"""Torch reuses 32 streams in turn; the others are left for other code."""
MEMORY = 6 << 30
"""Free memory per run: more than the networks of the papers need, so that no capture runs out of memory."""
MIN_TORCH = (2, 11)
"""Replays during a capture were not tested with older versions."""
Streams = dict[torch.device, "torch.cuda.Stream | None"]


def can_share(config: Config) -> bool:
    """Whether a run can train beside others in a process: on a GPU, captured, without global random state."""
    if pick_device(config.device).type != "cuda" or config.loop == "plain":
        return False
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    try:
        return version >= MIN_TORCH and _has_equal_steps(config)
    except (TypeError, ValueError):
        return True  # an invalid config fails before its first step


def _has_equal_steps(config: Config) -> bool:
    """The part of ``graph.obstacle`` that can be decided from a config, without a session."""
    name, options = parse_model(config.model)
    method = get_method(config.method, loss=config.loss)
    dropout = config.dropout or options.get("dropout")
    dampening = parse_optimizer(config.optimizer)[1].get("dampening")
    changes = dropout or dampening or config.mixup or config.weight_average or method.needs_unmixed
    return name in BUILT_IN and declares_phases(method) and method.phase(1) is not None and not changes


def runs_that_fit(config: Config) -> int:
    """The number of such runs that fit into the free memory of the GPU, at most ``MAX_RUNS``."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(pick_device(config.device))
    return max(1, min(MAX_RUNS, free // MEMORY))


def train_in_threads(
    runs: Sequence[tuple[int, Config]], jobs: int, notify: Notify, interruption: Interruption
) -> None:
    """Train the runs, ``jobs`` at a time; returns when all have ended or after a signal.

    An exception of ``notify`` is raised after the current runs have ended; no further run is started.
    """
    waiting, lock = list(runs), threading.Lock()
    problems: list[BaseException] = []

    def locked_notify(number: int, event: str, details: Any) -> None:
        with lock:
            notify(number, event, details)

    def work() -> None:
        streams: Streams = {}
        try:
            while interruption.received is None and not problems:
                with lock:
                    if not waiting:
                        return
                    number, config = waiting.pop(0)
                _train_on_own_stream(streams, config, partial(locked_notify, number), interruption)
        except BaseException as problem:
            problems.append(problem)

    devices = {pick_device(config.device) for _, config in runs}
    with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
        count = min(jobs, len(runs), MAX_STREAMS)
        _run_all([threading.Thread(target=work, daemon=True) for _ in range(count)])
    if problems:
        raise problems[0]


def fit_each(
    runs: Sequence[tuple[Config, LabelledData]], on_begin: Callable[[int], None] = lambda number: None
) -> list[Run]:
    """Train each config on its data: at the same time if the runs can share a GPU, otherwise in turn."""
    require_one_process("training on parts of the data")
    if len(runs) < 2 or not all(can_share(config) for config, _ in runs):
        found = []
        for number, (config, data) in enumerate(runs):
            on_begin(number)
            found.append(fit(config, data=data, watcher=Watcher()))
        return found
    device = pick_device(runs[0][0].device)
    with Interruption() as interruption, ThreadPoolExecutor(runs_that_fit(runs[0][0])) as pool:

        def work(number: int) -> Run:
            on_begin(number)
            stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
            with torch.cuda.stream(stream):
                return train(*runs[number], None, None, Watcher(), interruption)

        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            waiting = [pool.submit(work, number) for number in range(len(runs))]
            while wait(waiting, timeout=POLL).not_done:
                continue  # signals are handled between the waits
        found = [one.result() for one in waiting]
    interruption.raise_again()
    return found


def _run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # signals are not handled during a wait without timeout
            thread.join(POLL)


def _train_on_own_stream(
    streams: Streams, config: Config, notify: Callable[[str, Any], None], interruption: Interruption
) -> None:
    """``streams`` holds the stream of this thread on each device; a missing one is added."""
    device = pick_device(config.device)
    if device not in streams:
        on_gpu = device.type == "cuda"
        streams[device] = torch.cuda.Stream(device) if on_gpu else None  # type: ignore[no-untyped-call]
    try:
        with torch.cuda.stream(streams[device]):
            train_one(config, notify, interruption)
    except Interrupted:
        return
