"""Claims of the papers as statements about numbers of our runs, and the verdicts on them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scipy.stats import spearmanr  # type: ignore[import-untyped]

from ..losses import curve
from .cells import Cell
from .comparing import own_role
from .describe import as_markdown
from .results import CellResults, Results
from .table_builder import read
from .tables import get

RATIOS = ("snr", "alpha")
"""Numbers that are not fractions."""
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
        """The first cell of the row whose column starts with ``column``: cells of a run share its numbers."""
        for cell in get(self.table).cells:
            if cell.row == self.row and cell.column.startswith(self.column):
                return cell
        raise KeyError(f"{self.table} has no cell {self.row!r}, {self.column!r}")

    @property
    def command(self) -> str:
        """The command that trains one run of the cell."""
        return (
            f"noiseproof papers run {self.table} --rows '{self.row}' --columns '{self.cell.column}' --seeds 1"
        )


Numbers = Mapping[str, float]
"""Name of a point -> its number; accuracies in percent."""
Check = Callable[[Numbers], bool]


class Claim(NamedTuple):
    """A claim as statements about numbers of runs; a statement is undecided while a number is missing."""

    number: int
    words: str
    source: str
    points: Mapping[str, Point]
    statements: Mapping[str, Check]


class Verdict(NamedTuple):
    """A claim with our numbers and the truth of each statement; None if its runs are missing."""

    claim: Claim
    numbers: Numbers
    found: Mapping[str, bool | None]

    @property
    def words(self) -> str:
        """ "holds", "does not hold", "holds in part" or "not run"; "so far" if a statement is undecided."""
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


def judge(claim: Claim, results: Results) -> Verdict:
    """The verdict on a claim, from finished runs of full length (``results`` by the hash of their config)."""
    numbers: dict[str, float] = {}
    for name, point in claim.points.items():
        cell = point.cell
        found = CellResults(replace(get(point.table), cells=(cell,)), results)(cell)
        runs = found.get(own_role(cell), [])
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
    """A page with a list of verdicts, then the statements and numbers of each claim."""
    rows = [[str(v.claim.number), v.claim.words, v.words] for v in verdicts]
    parts = [
        "# Claims of the papers, checked by our runs",
        "This page shows which claims of the papers hold in our runs. A statement is checked with the"
        " mean over the seeds in `results/`, without shortened runs; numbers are percent unless named"
        " otherwise. The thresholds of claims 4 and 6 and of 5 at 40% were set after their runs, all"
        " others before. `noiseproof papers claim` writes this page.",
        as_markdown([("claim", "", "verdict"), *rows]),
        *(_claim_section(verdict) for verdict in verdicts),
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


def _claim_section(verdict: Verdict) -> str:
    claim = verdict.claim
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in verdict.numbers.items())
    parts = [
        f"## {claim.number}. {claim.words}",
        f"{claim.source}. **{verdict.words.capitalize()}.**",
        as_markdown([("statement", ""), *verdict.answers]),
        f"Numbers: {numbers}." if numbers else "",
    ]
    return "\n\n".join(part for part in parts if part)


LOSSES = {
    "CE": "ce",
    "SCE": "sce(q=0.7)",
    "GCE": "gce(q=0.3)",
    "AUL": "aul(a=1.1, q=5.0)",
    "AGCE": "agce(a=0.1, q=0.1)",
    "MAE": "mae",
    "AUL†": "aul(a=3.0, q=0.7)",
    "AGCE†": "agce(a=1.6, q=2.0)",
}
"""The losses of Curriculum Table 2, with their hyper-parameters on CIFAR-100."""
LAMBDAS, TEMPERATURES = (0, 0.5, 1, 2), (0, 0.5, 1, 2, 4, 8, 16)


def _best_lambda(numbers: Numbers, rate: str) -> float:
    return max(LAMBDAS, key=lambda lam: numbers[f"λ={lam} at {rate}"])


def _loses_less_than_6(name: str) -> Check:
    return lambda n: n[f"{name} best"] - n[f"{name} final"] < 6


def _gains(after: str, before: str) -> Check:
    return lambda n: n[after] >= n[before] + 0.5


def _imae_is_best(column: str) -> Check:
    return lambda n: n[f"IMAE, {column}"] > max(n[f"{row}, {column}"] for row in ("CCE", "MAE", "GCE"))


def _rank(pairs: Sequence[tuple[float, float]]) -> float:
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


POINTS = {claim["number"]: claim["points"] for claim in read("claims")}
STATEMENTS: Mapping[int, Mapping[str, Check]] = {
    1: {
        "with 10 classes MAE fits 90% or more of the labels": lambda n: n["MAE, 10 classes"] >= 90,
        "with 100 classes it fits less than 15%": lambda n: n["MAE"] < 15,
        "scaled, it tests within 3 points of CE": lambda n: n["MAE scaled"] > n["CE"] - 3,
        "shifted, within 6 points": lambda n: n["MAE shifted"] > n["CE"] - 6,
    },
    2: {
        "rank correlation with the share of fitted labels above 0.8": lambda n: (
            _rank([(curve(spec).initial_share(100), n[name]) for name, spec in LOSSES.items()]) > 0.8
        )
    },
    3: {
        "MAE times 2 and 4 fit the right labels 3 points or more below IMAE": lambda n: (
            max(n["MAE"], n["twice"], n["four times"]) <= n["IMAE"] - 3
        )
    },
    4: {
        "CE loses more than 15 points": lambda n: n["CE best"] - n["CE final"] > 15,
        **{f"{name} loses less than 6": _loses_less_than_6(name) for name in ("GR(12, 0.5)", "GR(16, 1)")},
    },
    5: {
        "the best λ never falls from 20% to 80%": lambda n: (
            sorted(best := [_best_lambda(n, rate) for rate in ("0.2", "0.4", "0.6", "0.8")]) == best
        ),
        "at 40% a λ above 0 is best": lambda n: _best_lambda(n, "0.4") > 0,
        "at 40% both accuracies rank the λ alike": lambda n: (
            _rank([(n[f"λ={lam} at 0.4"], n[f"λ={lam} at 0.4, intact"]) for lam in LAMBDAS]) > 0.9
        ),
    },
    6: {
        "clean, it is within 2 points of CE": lambda n: n["β=0, clean"] > n["CE, clean"] - 2,
        "at 40% it ends 10 points or more below GR(12, 0.5)": lambda n: (
            n["β=0, 40%"] <= n["GR(12, 0.5), 40%"] - 10
        ),
    },
    7: {
        "GR+L2 beats GR and L2 alone": lambda n: n["both"] > max(n["GR"], n["L2"]),
        "dropout on top hurts on CIFAR-100": lambda n: n["three"] < n["both"],
        "and helps on Vehicles-10": lambda n: n["three vehicles"] > n["both vehicles"],
    },
    8: {
        f"at {rate} by 0.5 points or more": _gains(f"again {rate}", f"once {rate}") for rate in ("0.2", "0.4")
    },
    9: {
        "CE is below SCE and GCE": lambda n: n["CE"] < min(n["SCE"], n["GCE"]),
        "SCE and GCE are below AUL": lambda n: max(n["SCE"], n["GCE"]) < n["AUL"],
        "AUL is below MAE": lambda n: n["AUL"] < n["MAE"],
    },
    10: {
        "MAE at 0.01 ends a point or more below its best": lambda n: (
            n["MAE · rate 0.01 best"] - n["MAE · rate 0.01 final"] >= 1
        ),
        "CE at 0.001 ends 5 points or more above CE at 0.01": lambda n: (
            n["CE · rate 0.001 final"] >= n["CE · rate 0.01 final"] + 5
        ),
        "so does CE at 0.1": lambda n: n["CE · rate 0.1 final"] >= n["CE · rate 0.01 final"] + 5,
    },
    11: {
        "with CE classes differ by 20 points or more": lambda n: n["CE"] >= 20,
        "with SL by 5 points less or fewer": lambda n: n["SL"] <= n["CE"] - 5,
    },
    12: {
        "5CE repeats more wrong labels than CE": lambda n: n["5CE noisy_subset"] > n["CE noisy_subset"],
        "RCE repeats half of them or fewer": lambda n: n["RCE noisy_subset"] <= n["CE noisy_subset"] / 2,
        "SL with alpha = 0.1 ends within 3 points for A from -8 to -4": lambda n: (
            max(ends := [n[f"SL · alpha=0.1 · A={A} final"] for A in (-8, -6, -4)]) - min(ends) <= 3
        ),
    },
    13: {
        "Forward by a point or more": lambda n: n["Forward with"] >= n["Forward"] + 1,
        "label smoothing by 3 points or more": lambda n: n["LSR with"] >= n["LSR"] + 3,
    },
    14: {
        "at 40% noise NAL fits 55 to 70% of the labels": lambda n: 55 <= n["NAL corrupted"] <= 70,
        "CE fits 90% or more": lambda n: n["CE corrupted"] >= 90,
        "NAL ends 10 points or more above CE": lambda n: n["NAL final"] >= n["CE final"] + 10,
    },
    15: {
        "tests are best at T = 8 or 16": lambda n: (
            max(TEMPERATURES, key=lambda T: n[f"T={T} final"]) in (8, 16)
        ),
        "accuracy on true training labels ranks T as tests do": lambda n: (
            _rank([(n[f"T={T} intact"], n[f"T={T} final"]) for T in TEMPERATURES]) > 0.8
        ),
        "fit does not": lambda n: (
            _rank([(n[f"T={T} corrupted"], n[f"T={T} final"]) for T in TEMPERATURES]) < 0.8
        ),
    },
    16: {
        words.removeprefix("IMAE, symmetric 0.4 · "): _imae_is_best(words.removeprefix("IMAE, "))
        for words in POINTS[16]
        if words.startswith("IMAE, ")
    },
    17: {
        "NCE's average update scale ends below half of CE's": lambda n: n["NCE scale"] < n["CE scale"] / 2,
        "NCE+MAE fits more than NCE and MAE": lambda n: n["NCE+MAE fit"] > max(n["NCE fit"], n["MAE fit"]),
    },
}
CLAIMS = tuple(
    Claim(
        claim["number"],
        claim["words"],
        claim["source"],
        {name: Point(*place) for name, place in claim["points"].items()},
        STATEMENTS[claim["number"]],
    )
    for claim in read("claims")
)
