"""A queue of all runs that are still missing for runnable cells, the most informative first."""

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
from .plan import Changes, PlannedRun, plan, recipe_epochs, with_folder
from .results import pack
from .running import relabelled_runs, train
from .tables import PRINTED, TABLES, get


class Selection(NamedTuple):
    """Cells of a table, and the number of seeds of each."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    seeds: int = 1


PRIORITIES = (
    Selection("sl.table1:code", ("MNIST", "CIFAR-10")),
    Selection("gr.table2"),
    Selection("sl.table1", ("CIFAR-10",)),
    Selection("gr.table3"),
    Selection("sl.table2"),
    Selection("imae.table6", ("ResNet-56",)),
    Selection("curriculum.table5"),
    Selection("curriculum.table2"),
    Selection("curriculum.table3"),
    Selection("nal.figures"),
    Selection("sl.table1", ("MNIST",)),
)
"""Cells whose runs come before all others, in this order."""
CROSS_ENTROPY = ("CE", "CCE", "Baseline", "FullModel (naive CCE)")
"""Names of rows with cross entropy, with which other rows are compared."""
STEP_MILLISECONDS = {
    "cnn4": 0.4,
    "cnn8": 0.9,
    "resnet20": 0.5,
    "resnet44": 1.2,
    "resnet56": 1.55,
    "resnet34": 5.0,
    "googlenet": 15.0,
}
"""Time of a training step of 128 images if eight runs train on an H200 at the same time, divided by 8."""
BATCHES = {"mnist": 469, "vehicles10": 40}
"""Batches of 128 samples in an epoch; 391 for other data."""
LAST = 1 << 30
PACK_SECONDS = 60.0
"""Shortest time between two updates of the CSV files."""


@dataclass
class QueuedRun:
    """A run that is to be trained, with the numbers that determine its place in the queue."""

    key: str
    planned: PlannedRun
    seconds: float
    rank: int = LAST
    """Index of its selection in ``PRIORITIES``; then come the first seeds of other cells, and so on."""
    information: float = 0.0
    """Sum of the weights of its cells: the further the printed number is from that of CE, the larger."""

    @property
    def order(self) -> tuple[float, ...]:
        return self.rank, -self.information / self.seconds


def queued_runs(changes: Changes = Changes(precision="bf16"), done: Collection[str] = ()) -> list[QueuedRun]:
    """All runs of all runnable cells, without those in ``done`` or whose data must be requested."""
    first = [get(one.table).select(one.rows, one.columns, one.seeds) for one in PRIORITIES]
    numbered = reversed(list(enumerate(first)))
    ranks = {key: number for number, part in numbered for key in plan(part, changes)}
    other_readings = [part for part in first if ":" in part.name]
    found: dict[str, QueuedRun] = {}
    for table in [*TABLES.values(), *other_readings]:
        runs = {
            key: one
            for key, one in plan(table, changes).items()
            if not needs_manual_download(one.config.data)
        }
        firsts = {one.relabel_of for key, one in runs.items() if key not in done}
        for key, planned in runs.items():
            if key in done and key not in firsts:  # a second run needs the folder of its first run
                continue
            cells = [table.cell(row, column) for _, row, column, _ in planned.cells]
            one = found.setdefault(key, QueuedRun(key, planned, estimated_seconds(planned.config)))
            one.rank = min(one.rank, ranks.get(key, len(PRIORITIES) + _seed_rank(planned.config.seed, cells)))
            one.information += sum(_information(table, cell) for cell in cells)
            if one.planned is not planned:
                one.planned.cells.extend(planned.cells)
    return sorted(found.values(), key=lambda one: one.order)


def _seed_rank(seed: int, cells: Iterable[Cell]) -> int:
    """The index of a seed among the seeds of its cells, the smallest one."""
    return min(cell.filling.seeds.index(seed) for cell in cells if isinstance(cell.filling, Runs))


def _information(table: Table, cell: Cell) -> float:
    """The weight of a cell: 1, up to 5 if its printed number is 20 points or more from that of CE."""
    if table.name not in PRINTED:
        return 0.5
    gap = distance_from_ce(table, cell)
    return 1.0 if gap is None else 1.0 + min(abs(gap), 20.0) / 5.0


def distance_from_ce(table: Table, cell: Cell) -> float | None:
    """The printed number minus that of cross entropy in the same column; None without such a row."""
    start = cell.row.split(JOINT)[:-1] if JOINT in cell.row else []
    names = {JOINT.join([*start[:depth], name]) for name in CROSS_ENTROPY for depth in range(len(start) + 1)}
    for other in table.cells:
        if other.column == cell.column and other.row.split(f"{JOINT}from")[0] in names:
            if isinstance(other.printed, str) or isinstance(cell.printed, str) or other is cell:
                return None
            return cell.printed - other.printed
    return None


def estimated_seconds(config: Config) -> float:
    """Approximate time of a run on one H200 that trains eight runs at the same time, divided by 8."""
    data = config.data.partition("(")[0]
    steps = (
        config.iterations
        or recipe_epochs(config.to_dict()) * BATCHES.get(data, 391) * 128 / config.batch_size
    )
    return steps * STEP_MILLISECONDS.get(config.model, 4.0) / 1000


def runs_within(queue: Sequence[QueuedRun], minutes: float | None) -> list[QueuedRun]:
    """The first runs of the queue that fit into this time, ordered from the longest to the shortest.

    In this order, runs that train at the same time end at about the same time.
    """
    if minutes is None:
        return list(queue)
    chosen: list[QueuedRun] = []
    left = 60.0 * minutes
    for one in queue:
        if one.seconds <= left:
            chosen.append(one)
            left -= one.seconds
        elif left < 5.0:
            break
    return sorted(chosen, key=lambda one: -one.seconds)


class PackingWatcher(ComparisonWatcher):
    """Writes the results as CSV when a run ends, at most once a minute, and forwards all events."""

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


def train_queue(
    chosen: Sequence[QueuedRun],
    *,
    out: Path,
    minutes: float | None = None,
    jobs: int | None = None,
    device: str = "auto",
    watcher: ComparisonWatcher | None = None,
) -> dict[str, str]:
    """Train these runs until all have ended or the time is up; return error messages by key.

    Runs that can share a GPU train at the same time, then the others one after the other. Runs that are
    unfinished when the time is up have saved a checkpoint, so the same call resumes them.
    """
    first = [one for one in chosen if one.planned.relabel_of is None]
    configs = {one.key: with_folder(one.planned, out).replace(device=device) for one in first}
    on_gpu = pick_device(device).type == "cuda"
    together = {key: config for key, config in configs.items() if not on_gpu or can_share(config)}
    alone = {key: config for key, config in configs.items() if key not in together}
    problems: dict[str, str] = {}
    with Interruption() as interruption, _time_limit(minutes):
        try:
            problems |= train(together, jobs=jobs, watcher=watcher)
            problems |= train(alone, jobs=1, watcher=watcher)
            again, unreadable = relabelled_runs({one.key: one.planned for one in chosen}, configs, out)
            problems |= unreadable | train(again, jobs=jobs, watcher=watcher)
        except ComparisonStopped as stop:
            interruption.received = stop.number
    if interruption.received is not None and interruption.received != getattr(signal, "SIGALRM", None):
        interruption.raise_again()
    return problems


@contextmanager
def _time_limit(minutes: float | None) -> Iterator[None]:
    """Send SIGALRM when the time is up; training then saves a checkpoint and stops."""
    if minutes is None:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 60.0 * minutes)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def count_finished(chosen: Sequence[QueuedRun], out: Path) -> int:
    return sum((out / one.planned.folder / RESULT).is_file() for one in chosen)
