"""How a cell gets a number of ours: by runs, by a formula, or not at all and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

Settings: TypeAlias = Mapping[str, Any]
"""Settings of ``train.Config`` by name."""
MEAN, BEST = "mean", "best"


@dataclass(frozen=True)
class Runs:
    """Runs with the same settings and several seeds."""

    state: ClassVar[str] = "runs"
    settings: Settings
    seeds: tuple[int, ...] = (0, 1, 2)
    """As many as the paper has; three where it does not say."""
    pick: str = MEAN
    """"mean" over seeds, or "best": the run with the highest final test accuracy, all its numbers."""
    baseline: Settings | None = None
    """Runs whose number is subtracted."""
    relabel: bool = False
    """The number of a second run, on the labels the first one predicts."""
    of_paper: int | None = None
    """How many seeds the paper has, where somebody chose others."""

    def __post_init__(self) -> None:
        if self.pick not in (MEAN, BEST):
            raise ValueError(f"pick={self.pick!r} is unknown, choose {MEAN!r} or {BEST!r}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds={self.seeds} must be one or more different numbers")

    @property
    def paper_seeds(self) -> int:
        return self.of_paper or len(self.seeds)

    def with_seeds(self, number: int) -> Runs:
        """So many runs: the seeds it has, then the numbers after them.

        Example:
            >>> Runs({}, (123,)).with_seeds(3).seeds, Runs({}, (0, 1, 2)).with_seeds(2).seeds
            ((123, 124, 125), (0, 1))
        """
        more = range(max(self.seeds) + 1, max(self.seeds) + 1 + number)
        return replace(self, seeds=(*self.seeds, *more)[:number], of_paper=self.paper_seeds)


@dataclass(frozen=True)
class Quoted:
    """The paper took the number from elsewhere: there is nothing of its own to run."""

    state: ClassVar[str] = "quoted"
    source: str


@dataclass(frozen=True)
class Computed:
    """A property of a loss or of a number of classes; needs no training."""

    state: ClassVar[str] = "computed"
    what: str
    """"spread" of a loss, or "initial_margin" of so many classes."""
    of: str


@dataclass(frozen=True)
class Stated:
    """A formula, a hyper-parameter or a fact: nothing can be measured."""

    state: ClassVar[str] = "stated"
    what: str


@dataclass(frozen=True)
class Missing:
    """Could be run in principle; what is missing."""

    state: ClassVar[str] = "missing"
    reason: str


Filling: TypeAlias = "Runs | Quoted | Computed | Stated | Missing"
STATES = {
    "runs": "runnable",
    "quoted": "quoted",
    "computed": "computed",
    "stated": "stated",
    "missing": "not runnable",
}
"""State to its words, in the order of lists."""
