"""One queue of all runs that runnable cells still need, the most telling first."""

from __future__ import annotations

import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..data.locations import needs_manual_download
from ..devices.device import pick_device
from ..dynamics.run_folder import RESULT
from ..processes import Interruption
from ..train import Config
from ..train.comparison.runs import ComparisonStopped, ComparisonWatcher
from ..train.comparison.streams import can_share
from .cells import JOINT, Cell, Runs, Table
from .plan import Changes, Planned, plan, recipe_epochs, with_folder
from .results import pack
from .running import second_runs, train
from .tables import PRINTED, TABLES, get


class Part(NamedTuple):
    """Some cells of a table."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    seeds: int = 1


FIRST = (
    Part("gr.table3", columns=("symmetric 0.4",)),
    Part("sl.table1", ("CIFAR-10",), ("symmetric 0.4",)),
    Part("curriculum.table5", ("SCE",), ("symmetric 0.4 · snr",), seeds=5),
    Part("gr.table2"),
    Part("sl.table1", ("CIFAR-10",)),
    Part("gr.table3"),
    Part("sl.table2"),
    Part("imae.table6", ("ResNet-56",)),
    Part("curriculum.table5"),
    Part("curriculum.table2"),
    Part("curriculum.table3"),
    Part("nal.figures"),
    Part("sl.table1", ("MNIST",)),
)
"""What comes before everything else, in this order."""
CROSS_ENTROPY = ("CE", "CCE", "Baseline", "FullModel (naive CCE)")
"""Names of the row with cross entropy, which other rows are compared with."""
MILLISECONDS = {
    "cnn4": 0.4,
    "cnn8": 0.9,
    "resnet20": 0.5,
    "resnet44": 1.2,
    "resnet56": 1.55,
    "resnet34": 3.3,
    "googlenet": 4.0,
}
"""A training step of 128 images, its share where eight runs go together on an H200."""
STEPS = {"mnist": 469, "vehicles10": 40}
"""Batches of 128 in an epoch; 391 elsewhere."""
NEVER = 1 << 30
PACK_SECONDS = 60.0


@dataclass
class Waiting:
    """A run that is to be trained, and what decides about its place."""

    key: str
    planned: Planned
    seconds: float
    rank: int = NEVER
    """Number of its part in ``FIRST``; after these come the first seeds of all cells, then the second, ..."""
    telling: float = 0.0
    """Cells it fills, those whose print is far from cross entropy's counting more."""

    @property
    def order(self) -> tuple[float, ...]:
        return self.rank, -self.telling / self.seconds


def queue(changes: Changes = Changes(precision="bf16"), done: Collection[str] = ()) -> list[Waiting]:
    """Every run of every runnable cell once, without those that are done or whose data must be requested."""
    parts = list(enumerate(get(part.table).select(part.rows, part.columns, part.seeds) for part in FIRST))
    ranks = {key: number for number, part in reversed(parts) for key in plan(part, changes)}
    found: dict[str, Waiting] = {}
    for table in TABLES.values():
        runs = {
            key: one
            for key, one in plan(table, changes).items()
            if not needs_manual_download(one.config.data)
        }
        firsts = {one.relabel_of for key, one in runs.items() if key not in done}
        for key, planned in runs.items():
            if key in done and key not in firsts:  # a second run needs the folder of its first
                continue
            cells = [table.cell(row, column) for _, row, column, _ in planned.cells]
            one = found.setdefault(key, Waiting(key, planned, seconds(planned.config)))
            one.rank = min(one.rank, ranks.get(key, len(FIRST) + _round(planned.config.seed, cells)))
            one.telling += sum(_telling(table, cell) for cell in cells)
            if one.planned is not planned:
                one.planned.cells.extend(planned.cells)
    return sorted(found.values(), key=lambda one: one.order)


def _round(seed: int, cells: Iterable[Cell]) -> int:
    """Place of a seed among those of its cells."""
    return min(cell.filling.seeds.index(seed) for cell in cells if isinstance(cell.filling, Runs))


def _telling(table: Table, cell: Cell) -> float:
    """1 for a cell, up to 5 where the print is 20 points or more away from cross entropy's."""
    if table.name not in PRINTED:
        return 0.5
    gap = distance_from_ce(table, cell)
    return 1.0 if gap is None else 1.0 + min(abs(gap), 20.0) / 5.0


def distance_from_ce(table: Table, cell: Cell) -> float | None:
    """Printed less what the paper prints for cross entropy in the same column; None without such a row."""
    start = cell.row.split(JOINT)[:-1] if JOINT in cell.row else []
    names = {JOINT.join([*start[:depth], name]) for name in CROSS_ENTROPY for depth in range(len(start) + 1)}
    for other in table.cells:
        if other.column == cell.column and other.row.split(f"{JOINT}from")[0] in names:
            if isinstance(other.printed, str) or isinstance(cell.printed, str) or other is cell:
                return None
            return cell.printed - other.printed
    return None


def seconds(config: Config) -> float:
    """What a run takes on one H200 beside seven others, roughly."""
    data = config.data.partition("(")[0]
    steps = (
        config.iterations or recipe_epochs(config.to_dict()) * STEPS.get(data, 391) * 128 / config.batch_size
    )
    return steps * MILLISECONDS.get(config.model, 4.0) / 1000


def choose(waiting: Sequence[Waiting], minutes: float | None) -> list[Waiting]:
    """The first runs that fit into the time together, the longest first so that all end at about one time."""
    if minutes is None:
        return list(waiting)
    chosen: list[Waiting] = []
    left = 60.0 * minutes
    for one in waiting:
        if one.seconds <= left:
            chosen.append(one)
            left -= one.seconds
        elif left < 5.0:
            break
    return sorted(chosen, key=lambda one: -one.seconds)


class Packer(ComparisonWatcher):
    """Writes the results when a run has ended, at most once a minute, and hands all news on."""

    def __init__(self, inner: ComparisonWatcher, out: Path, target: Path | None, commit: str) -> None:
        self.inner, self.out, self.target, self.commit = inner, out, target, commit
        self.last = 0.0

    def begin(self, configs: Sequence[Config], kept: int) -> None:
        self.inner.begin(configs, kept)

    def update(self, config: Config, event: str, details: Any) -> None:
        self.inner.update(config, event, details)
        if event == "finished" and time.monotonic() - self.last > PACK_SECONDS:
            self.pack()

    def end(self) -> None:
        self.inner.end()
        self.pack()

    def pack(self) -> None:
        if self.target is not None:
            pack(self.out, self.target, self.commit)
        self.last = time.monotonic()


def work(
    chosen: Sequence[Waiting],
    *,
    out: Path,
    minutes: float | None = None,
    jobs: int | None = None,
    device: str = "auto",
    watcher: ComparisonWatcher | None = None,
) -> dict[str, str]:
    """Train runs of the queue until none is left or the time is up; what went wrong, by key.

    Runs that can share a GPU go together, then the others one after the other. What is unfinished when the
    time is up has saved where it is: the same call goes on.
    """
    first = [one for one in chosen if one.planned.relabel_of is None]
    configs = {one.key: with_folder(one.planned, out).replace(device=device) for one in first}
    on_gpu = pick_device(device).type == "cuda"
    together = {key: config for key, config in configs.items() if not on_gpu or can_share(config)}
    alone = {key: config for key, config in configs.items() if key not in together}
    problems: dict[str, str] = {}
    with Interruption() as interruption, _alarm(minutes):
        try:
            problems |= train(together, jobs=jobs, watcher=watcher)
            problems |= train(alone, jobs=1, watcher=watcher)
            again, unreadable = second_runs({one.key: one.planned for one in chosen}, configs, out)
            problems |= unreadable | train(again, jobs=jobs, watcher=watcher)
        except ComparisonStopped as stop:
            interruption.received = stop.number
    if interruption.received is not None and interruption.received != getattr(signal, "SIGALRM", None):
        interruption.pass_on()
    return problems


@contextmanager
def _alarm(minutes: float | None) -> Iterator[None]:
    """A signal when the time is up, which training takes as a request to save and stop."""
    if minutes is None:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 60.0 * minutes)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def finished(chosen: Sequence[Waiting], out: Path) -> int:
    return sum((out / one.planned.folder / RESULT).is_file() for one in chosen)
