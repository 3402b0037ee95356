"""Runs that share a GPU and a process: each in a thread, on a stream of its own.

Captured steps leave the host free, so one process can keep several runs going; kernels of one run fill what
those of another leave idle. Processes of their own could not: a GPU gives its time to one process after the
other.
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
from ...devices.distributed import refuse_ranks
from ...methods import get as get_method
from ...models.registry import BUILT_IN
from ...models.spec import parse as parse_model
from ...processes import Interrupted, Interruption
from ..callbacks import Watcher
from ..config import Config
from ..graph import keeps_promise
from ..loop import fit, train
from ..optimizer import parse_optimizer
from ..run import Run
from .workers import POLL, Tell, train_one

MOST = 8
"""Runs at the same time, if nobody says: 12 bring no more (benchmarks/logs/training_h200_first.log)."""
MOST_STREAMS = 24
"""Torch has 32 and hands them out in turn: a few are left for others."""
MEMORY = 6 << 30
"""Free memory a run must find: plenty for the networks of the papers, so that a capture never runs out."""
OLDEST_TORCH = (2, 11)
"""Whether replays may go on beside a capture was not tried with an older one."""
Streams = dict[torch.device, "torch.cuda.Stream | None"]


def can_share(config: Config) -> bool:
    """Whether a run may have neighbours in its process: on a GPU, captured, without shared random numbers."""
    if pick_device(config.device).type != "cuda" or config.loop == "plain":
        return False
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    try:
        return version >= OLDEST_TORCH and _has_steady_steps(config)
    except (TypeError, ValueError):
        return True  # it will not even begin


def _has_steady_steps(config: Config) -> bool:
    """What ``steps.obstacle`` sees of a session, as far as a config tells."""
    name, options = parse_model(config.model)
    method = get_method(config.method, loss=config.loss)
    dropout = config.dropout or options.get("dropout")
    dampening = parse_optimizer(config.optimizer)[1].get("dampening")
    is_told = keeps_promise(method) and method.phase(1) is not None
    return name in BUILT_IN and is_told and not dropout and not dampening


def room(config: Config) -> int:
    """How many such runs the free memory of the GPU has room for, at most ``MOST``."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(pick_device(config.device))
    return max(1, min(MOST, free // MEMORY))


def train_together(
    runs: Sequence[tuple[int, Config]], jobs: int, tell: Tell, interruption: Interruption
) -> None:
    """Train all of them, ``jobs`` at a time; returns when none is left or a signal has come.

    What ``tell`` raises ends the comparison when the runs under way are over.
    """
    waiting, lock = list(runs), threading.Lock()
    problems: list[BaseException] = []

    def tell_in_turn(number: int, what: str, details: Any) -> None:
        with lock:
            tell(number, what, details)

    def work() -> None:
        streams: Streams = {}
        try:
            while interruption.received is None and not problems:
                with lock:
                    if not waiting:
                        return
                    number, config = waiting.pop(0)
                _train_on_own_stream(streams, config, partial(tell_in_turn, number), interruption)
        except BaseException as problem:
            problems.append(problem)

    devices = {pick_device(config.device) for _, config in runs}
    with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
        _run_all(
            [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(runs), MOST_STREAMS))]
        )
    if problems:
        raise problems[0]


def fit_each(
    runs: Sequence[tuple[Config, LabelledData]], on_begin: Callable[[int], None] = lambda number: None
) -> list[Run]:
    """Train each config on its data: together where they can share a GPU, otherwise one after the other."""
    refuse_ranks("training on parts of the data")
    if len(runs) < 2 or not all(can_share(config) for config, _ in runs):
        found = []
        for number, (config, data) in enumerate(runs):
            on_begin(number)
            found.append(fit(config, data=data, watcher=Watcher()))
        return found
    device = pick_device(runs[0][0].device)
    with Interruption() as interruption, ThreadPoolExecutor(room(runs[0][0])) as pool:

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
    interruption.pass_on()
    return found


def _run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # a wait without an end would keep signals from being handled
            thread.join(POLL)


def _train_on_own_stream(
    streams: Streams, config: Config, tell: Callable[[str, Any], None], interruption: Interruption
) -> None:
    """``streams`` are those this thread has already."""
    device = pick_device(config.device)
    if device not in streams:
        on_gpu = device.type == "cuda"
        streams[device] = torch.cuda.Stream(device) if on_gpu else None  # type: ignore[no-untyped-call]
    try:
        with torch.cuda.stream(streams[device]):
            train_one(config, tell, interruption)
    except Interrupted:
        return
