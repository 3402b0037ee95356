"""Cells of a table, and where our number for a cell comes from: runs, a formula, or nowhere (and why)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

from ..grammar import nearest

Settings: TypeAlias = Mapping[str, Any]
"""Settings of ``train.Config`` by name."""
MEAN, BEST = "mean", "best"


@dataclass(frozen=True)
class Runs:
    """Runs with the same settings and several seeds."""

    state: ClassVar[str] = "runs"
    settings: Settings
    seeds: tuple[int, ...] = (0, 1, 2)
    """As many as in the paper; three if the paper does not state it."""
    pick: str = MEAN
    """"mean" over seeds, or "best": the run with the highest final test accuracy, all its numbers."""
    baseline: Settings | None = None
    """Settings of runs whose number is subtracted."""
    relabel: bool = False
    """Whether the number is that of a second run, trained on the labels predicted by the first."""
    of_paper: int | None = None
    """Number of seeds in the paper, if another number was chosen."""

    @property
    def paper_seeds(self) -> int:
        return self.of_paper or len(self.seeds)

    def with_seeds(self, number: int) -> Runs:
        """The runs with this number of seeds: the given seeds first, then the following numbers.

        Example:
            >>> Runs({}, (123,)).with_seeds(3).seeds, Runs({}, (0, 1, 2)).with_seeds(2).seeds
            ((123, 124, 125), (0, 1))
        """
        more = range(max(self.seeds) + 1, max(self.seeds) + 1 + number)
        return replace(self, seeds=(*self.seeds, *more)[:number], of_paper=self.paper_seeds)


@dataclass(frozen=True)
class Quoted:
    """The paper quotes the number from other work, so no run reproduces it."""

    state: ClassVar[str] = "quoted"
    source: str
    why: str = ""
    """Why the library does not have this method."""


@dataclass(frozen=True)
class Computed:
    """The number is a property of a loss or of a number of classes, computed without training."""

    state: ClassVar[str] = "computed"
    what: str
    """"spread" of a loss, or "initial_margin" of a number of classes."""
    of: str


@dataclass(frozen=True)
class Stated:
    """The cell is a formula, a hyper-parameter or a fact, so nothing can be measured."""

    state: ClassVar[str] = "stated"
    what: str


@dataclass(frozen=True)
class Missing:
    """The cell could be run, but data or a method is missing; ``reason`` says which."""

    state: ClassVar[str] = "missing"
    reason: str


Filling: TypeAlias = "Runs | Quoted | Computed | Stated | Missing"
"""Where our number for a cell comes from, or why there is none."""
STATES = {
    "runs": "runnable",
    "quoted": "quoted",
    "computed": "computed",
    "stated": "stated",
    "missing": "not runnable",
}
"""State -> its name in messages, in the order of lists."""


JOINT = " · "
"""Separator of the parts of the name of a row or column."""


@dataclass(frozen=True)
class Cell:
    """A printed number of a table, and where our number comes from."""

    row: str
    column: str
    metric: str
    """A key of ``METRICS``, or another metric, which no run has."""
    printed: float | str
    filling: Filling
    std: float | None = None
    note: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.row, self.column

    @property
    def state(self) -> str:
        return self.filling.state

    @property
    def unit(self) -> Metric:
        return METRICS.get(self.metric, Metric())


@dataclass(frozen=True)
class Table:
    """A table: its cells, ordered by row and column, and notes on them.

    Example:
        >>> from noiseproof.papers.cells import Runs
        >>> ours = [Cell("mae", "clean", "test_accuracy_%", 90.0, Runs({"loss": "mae", "epochs": 1}))]
        >>> Table("mine.table1", "Mean absolute error", tuple(ours)).cell("mae", "clean").printed
        90.0
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        repeated = [place for place, count in Counter(c.place for c in self.cells).items() if count > 1]
        if repeated:
            raise ValueError(
                f"{self.name} has two cells in row {repeated[0][0]!r}, column {repeated[0][1]!r}"
            )

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(cell.column for cell in self.cells))

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of cells in each state."""
        found = Counter(cell.state for cell in self.cells)
        return {state: found[state] for state in STATES}

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str], Cell]:
        return {cell.place: cell for cell in self.cells}

    def cell(self, row: str, column: str) -> Cell:
        """The cell of a row and column; KeyError if the paper has none there."""
        return self._by_place[row, column]

    def with_runs(self, change: Callable[[Runs], Runs]) -> Table:
        """The table with ``change`` applied to the runs of its cells."""
        cells = (
            replace(c, filling=change(c.filling)) if isinstance(c.filling, Runs) else c for c in self.cells
        )
        return replace(self, cells=tuple(cells))

    def select(
        self, rows: Sequence[str] = (), columns: Sequence[str] = (), seeds: int | None = None
    ) -> Table:
        """The part of the table with these rows and columns, with this number of seeds per cell.

        A pattern such as ``MAE*`` must match a whole name or one of its parts, ignoring case.
        """
        cells = [c for c in self.cells if _matches(c.row, rows) and _matches(c.column, columns)]
        for what, patterns, known in (("row", rows, self.rows), ("column", columns, self.columns)):
            for pattern in patterns:
                if not any(_matches(name, [pattern]) for name in known):
                    parts = [part for name in known for part in name.split(JOINT)]
                    raise ValueError(f"{self.name} has no {what} {pattern!r}{nearest(pattern, known, parts)}")
        if not cells:
            raise ValueError(f"{self.name} has no cell in rows {list(rows)} and columns {list(columns)}")
        found = replace(self, cells=tuple(cells))
        return found if seeds is None else found.with_runs(lambda runs: runs.with_seeds(seeds))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    parts = [part.lower() for part in (name, *name.split(JOINT))]
    return not patterns or any(fnmatchcase(part, pattern.lower()) for pattern in patterns for part in parts)


class Metric(NamedTuple):
    """The number of a run that fills a cell, and the unit it is printed in."""

    number: str | None = None
    """A key of ``results.NUMBERS``; None if no run has it."""
    factor: float = 100.0
    """Our number times this factor has the unit of the paper."""
    comparable: bool = True
    """False if only ratios between rows can be compared."""


METRICS: Mapping[str, Metric] = {
    "test_accuracy_%": Metric("final"),
    "test_accuracy_fraction": Metric("final", 1.0),
    "test_accuracy_final_%": Metric("final"),
    "test_accuracy_best_%": Metric("best"),
    "train_accuracy_%": Metric("corrupted"),
    "train_accuracy_corrupted_%": Metric("corrupted"),
    "train_accuracy_intact_%": Metric("intact"),
    "fit_clean_subset_%": Metric("clean_subset"),
    "fit_noisy_subset_%": Metric("noisy_subset"),
    "hybrid_accuracy_%": Metric("hybrid"),
    "test_accuracy_selected_%": Metric("selected"),
    "validation_accuracy_%": Metric("validation"),
    "test_accuracy_after_label_correction_retrain_%": Metric("final"),
    "diff_vs_clean_accuracy_pp": Metric("final"),
    "mAP_%": Metric("mAP"),
    "CMC-1_%": Metric("CMC-1"),
    "snr": Metric("snr", 1.0),
    "alpha_t_x1e4": Metric("alpha", 1e4, comparable=False),
}
"""Metrics of runs, by their name in ``printed/``; training accuracies are those of the final network."""
