"""A claim of a paper as statements about numbers of our runs, and the verdict on it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .cells import Cell
from .comparing import own_role
from .describe import as_markdown
from .plan import Changes
from .results import OfCells, Results
from .tables import get

RATIOS = ("snr", "alpha")
"""Numbers that are not shares."""
ANSWERS = {True: "yes", False: "no", None: "not run"}


class Point(NamedTuple):
    """A number of the runs of a cell: the mean over their seeds."""

    table: str
    row: str
    column: str
    number: str
    """One of ``results.NUMBERS``."""

    @property
    def cell(self) -> Cell:
        """The first cell of its row whose column begins so: cells of one run share all its numbers."""
        for cell in get(self.table).cells:
            if cell.row == self.row and cell.column.startswith(self.column):
                return cell
        raise KeyError(f"{self.table} has no cell {self.row!r}, {self.column!r}")

    @property
    def command(self) -> str:
        """What trains a run of it."""
        return (
            f"noiseproof papers run {self.table} --rows '{self.row}' --columns '{self.cell.column}' --seeds 1"
        )


Numbers = Mapping[str, float]
"""By name of the point; accuracies in percent."""
Check = Callable[[Numbers], bool]


class Claim(NamedTuple):
    """A claim as statements that are true or false of numbers; one without all its numbers is open."""

    number: int
    words: str
    source: str
    points: Mapping[str, Point]
    statements: Mapping[str, Check]


class Verdict(NamedTuple):
    """A claim beside our numbers; a statement is True, False, or None where its runs are missing."""

    claim: Claim
    numbers: Numbers
    found: Mapping[str, bool | None]

    @property
    def words(self) -> str:
        """ "holds", "does not hold", "holds in part" or "not run"; "so far" where statements are open."""
        known = [value for value in self.found.values() if value is not None]
        if not known:
            return "not run"
        word = "holds" if all(known) else "holds in part" if any(known) else "does not hold"
        return word if len(known) == len(self.found) else f"{word} so far"

    @property
    def answers(self) -> list[list[str]]:
        """Each statement with "yes", "no" or "not run"."""
        return [[words, ANSWERS[value]] for words, value in self.found.items()]

    @property
    def commands(self) -> list[str]:
        """The commands that train the missing runs."""
        return list(dict.fromkeys(p.command for n, p in self.claim.points.items() if n not in self.numbers))


def judge(claim: Claim, results: Results, ways: Iterable[Changes] = ()) -> Verdict:
    """The verdict on a claim by finished runs on all samples, by the hash of their config."""
    numbers: dict[str, float] = {}
    whole = [way for way in ways if way.samples is None]
    for name, point in claim.points.items():
        cell = point.cell
        runs = OfCells(replace(get(point.table), cells=(cell,)), results, whole)(cell).get(own_role(cell), [])
        values = [value for run in runs if run.numbers and (value := run.numbers[point.number]) is not None]
        if values:
            numbers[name] = (1 if point.number in RATIOS else 100) * statistics.fmean(values)
    return Verdict(claim, numbers, {words: _check(test, numbers) for words, test in claim.statements.items()})


def _check(test: Check, numbers: Numbers) -> bool | None:
    try:
        return bool(test(numbers))
    except KeyError:
        return None


def to_markdown(verdicts: Sequence[Verdict]) -> str:
    """One page: a list of verdicts, then the statements and numbers of each claim."""
    rows = [[str(v.claim.number), v.claim.words, v.words] for v in verdicts]
    parts = [
        "# What the papers claim, and what our runs say",
        "Written by `noiseproof papers claim`. A statement is judged by the mean over the seeds that were run"
        " (`results/`); percent where nothing else is said. Marks of claims 4 and 6 and of 5 at 40% were set"
        " after their runs, all others before.",
        as_markdown([("claim", "", "verdict"), *rows]),
        *(_section(verdict) for verdict in verdicts),
    ]
    return "\n\n".join(parts) + "\n"


def to_dict(verdict: Verdict) -> dict[str, Any]:
    """Plain values."""
    claim = verdict.claim
    return {
        "claim": claim.number,
        "words": claim.words,
        "source": claim.source,
        "verdict": verdict.words,
        "statements": dict(verdict.found),
        "numbers": dict(verdict.numbers),
        "missing": verdict.commands,
    }


def _section(verdict: Verdict) -> str:
    claim = verdict.claim
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in verdict.numbers.items())
    parts = [
        f"## {claim.number}. {claim.words}",
        f"{claim.source}. **{verdict.words.capitalize()}.**",
        as_markdown([("statement", ""), *verdict.answers]),
        f"Numbers: {numbers}." if numbers else "",
    ]
    return "\n\n".join(part for part in parts if part)
