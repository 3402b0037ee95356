"""A table of a paper: cells with their printed number and the runs that fill them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from ..grammar import nearest
from .filling import STATES, Filling, Runs

JOINT = " · "
"""Between the parts of the name of a row or column."""


@dataclass(frozen=True)
class Cell:
    """A number of a table."""

    row: str
    column: str
    metric: str
    """A key of ``METRICS``."""
    printed: float | str
    filling: Filling
    std: float | None = None
    note: str = ""

    @property
    def state(self) -> str:
        return self.filling.state


@dataclass(frozen=True)
class Table:
    """Cells in order of their rows and columns, and what must be said of them.

    Example:
        >>> from noiseproof.papers.filling import Runs
        >>> ours = [Cell("mae", "clean", "test_accuracy_%", 90.0, Runs({"loss": "mae", "epochs": 1}))]
        >>> Table("mine.table1", "Mean absolute error", tuple(ours)).cell("mae", "clean").printed
        90.0
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        repeated = [place for place, count in Counter(map(place_of, self.cells)).items() if count > 1]
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
        """Cells by state."""
        found = Counter(cell.state for cell in self.cells)
        return {state: found[state] for state in STATES}

    def cell(self, row: str, column: str) -> Cell:
        """The cell at a place; KeyError if the paper has none there."""
        for cell in self.cells:
            if place_of(cell) == (row, column):
                return cell
        raise KeyError((row, column))

    def select(
        self, rows: Sequence[str] = (), columns: Sequence[str] = (), seeds: int | None = None
    ) -> Table:
        """The part with these rows and columns, each run with that many seeds.

        A pattern such as ``MAE*`` is held against the whole name and against each of its parts; upper and
        lower case are the same.
        """
        cells = [c for c in self.cells if _wanted(c.row, rows) and _wanted(c.column, columns)]
        for what, patterns, known in (("row", rows, self.rows), ("column", columns, self.columns)):
            for pattern in patterns:
                if not any(_wanted(name, [pattern]) for name in known):
                    parts = [part for name in known for part in name.split(JOINT)]
                    raise ValueError(f"{self.name} has no {what} {pattern!r}{nearest(pattern, known, parts)}")
        if not cells:
            raise ValueError(f"{self.name} has no cell in rows {list(rows)} and columns {list(columns)}")
        return replace(self, cells=tuple(_with_seeds(cells, seeds)))


def place_of(cell: Cell) -> tuple[str, str]:
    return cell.row, cell.column


def _wanted(name: str, patterns: Sequence[str]) -> bool:
    parts = [part.lower() for part in (name, *name.split(JOINT))]
    return not patterns or any(fnmatchcase(part, pattern.lower()) for pattern in patterns for part in parts)


def _with_seeds(cells: Iterable[Cell], seeds: int | None) -> Iterable[Cell]:
    for cell in cells:
        if seeds is not None and isinstance(cell.filling, Runs):
            cell = replace(cell, filling=cell.filling.with_seeds(seeds))
        yield cell
