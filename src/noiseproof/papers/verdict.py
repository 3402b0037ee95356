"""A claim of a paper as statements about numbers of our runs, and the verdict on it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .cells import Cell, Runs
from .describe import as_markdown
from .plan import OWN, RELABELLED
from .results import OfCells, Results
from .tables import get

RATIOS = ("snr", "alpha")
"""Numbers that are not shares."""
HOLDS, FAILS, PARTLY, OPEN = "holds", "does not hold", "holds in part", "not run"


class Point(NamedTuple):
    """A number of the runs of a cell: the mean over their seeds."""

    table: str
    row: str
    column: str
    number: str
    """A key of ``results.NUMBERS``."""

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
    """A claim as statements that are true or false of numbers; a statement whose numbers lack is open."""

    number: int
    words: str
    source: str
    points: Mapping[str, Point]
    statements: Mapping[str, Check]


class Verdict(NamedTuple):
    """A claim beside our numbers; a statement is True, False, or None where its runs lack."""

    claim: Claim
    numbers: Numbers
    found: Mapping[str, bool | None]

    @property
    def words(self) -> str:
        """ "holds", "does not hold", "holds in part" or "not run"; "so far" where statements are open."""
        known = [value for value in self.found.values() if value is not None]
        if not known:
            return OPEN
        word = HOLDS if all(known) else FAILS if not any(known) else PARTLY
        return word if len(known) == len(self.found) else f"{word} so far"

    @property
    def commands(self) -> list[str]:
        """What trains the runs that lack."""
        return list(dict.fromkeys(p.command for n, p in self.claim.points.items() if n not in self.numbers))


def judge(claim: Claim, results: Results, epochs: Iterable[int] = ()) -> Verdict:
    """The verdict on a claim by finished runs, by the hash of their config."""
    cells = {name: point.cell for name, point in claim.points.items()}
    runs: dict[str, OfCells] = {}
    for name in dict.fromkeys(point.table for point in claim.points.values()):
        needed = {id(cells[key]): cells[key] for key, point in claim.points.items() if point.table == name}
        runs[name] = OfCells(replace(get(name), cells=tuple(needed.values())), results, epochs)
    numbers: dict[str, float] = {}
    for name, point in claim.points.items():
        filling = cells[name].filling
        role = RELABELLED if isinstance(filling, Runs) and filling.relabel else OWN
        found = [run.numbers for run in runs[point.table](cells[name]).get(role, []) if run.numbers]
        if values := [value for one in found if (value := one[point.number]) is not None]:
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
    told = {"claim": claim.number, "words": claim.words, "source": claim.source, "verdict": verdict.words}
    return told | {
        "statements": dict(verdict.found),
        "numbers": dict(verdict.numbers),
        "missing": verdict.commands,
    }


def _section(verdict: Verdict) -> str:
    claim = verdict.claim
    marks = {True: "yes", False: "no", None: "not run"}
    told = [[words, marks[value]] for words, value in verdict.found.items()]
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in verdict.numbers.items())
    parts = [
        f"## {claim.number}. {claim.words}",
        f"{claim.source}. **{verdict.words.capitalize()}.**",
        as_markdown([("statement", ""), *told]),
        f"Numbers: {numbers}." if numbers else "",
    ]
    return "\n\n".join(part for part in parts if part)
