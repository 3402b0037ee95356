"""One page for several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from .evidence import Evidence, Source
from .facts import Facts, facts_of
from .figures.comparison import run_lines
from .pictures import COMPARISON_PICTURES, RUN_PICTURES, Shown, show
from .summary import verdict
from .tables import comparison_table, settings_table
from .template import render
from .wording import count, percent, points, shown

MOST_RIDGES = 8


def write_comparison(runs: Sequence[Source], path: str | Path) -> Path:
    """Write one HTML file that sets runs beside each other.

    Example:
        >>> import tempfile
        >>> from noiseproof import report
        >>> runs = [report.example_record(), report.example_record(seed=1)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.write_comparison(runs, f"{folder}/comparison.html").name
        'comparison.html'
    """
    if len(runs) < 2:
        raise ValueError(
            f"a comparison needs two runs or more, got {len(runs)}; for one run use report.write"
        )
    found = [Evidence.of(run) for run in runs]
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, comparison_page(found))
    return target


def comparison_page(runs: Sequence[Evidence]) -> str:
    """The HTML of several runs."""
    facts = [facts_of(run) for run in runs]
    names = run_names(runs)
    word = " or ".join(sorted({run.word for run in runs}, reverse=True))
    pictures = show(COMPARISON_PICTURES, runs, word=word)
    first = list(zip(runs, names, strict=True))[:MOST_RIDGES]
    ridges = [_ridge(run, name, number) for number, (run, name) in enumerate(first)]
    return render(
        "comparison.html",
        title=f"{count(len(runs))} runs compared",
        sentences=compare(names, facts),
        pictures=[picture for picture in pictures if picture.markup is not None],
        ridges=[picture for picture in ridges if picture.markup is not None],
        verdicts=[(shown(name, 80), verdict(fact)) for name, fact in zip(names, facts, strict=True)],
        runs=comparison_table(names, facts),
        tables=[settings_table(run) for run in runs],
        names=[shown(name, 80) for name in names],
        version=__version__,
    )


def run_names(runs: Sequence[Evidence]) -> list[str]:
    """What tells the runs apart: the loss or method, with the folder where two are the same."""
    return [str(line["label"]).replace(r"\$", "$") for line in run_lines(runs)]


def compare(names: Sequence[str], facts: Sequence[Facts]) -> list[str]:
    """The differences in words.

    The best run is named by its final test accuracy, not by its best epoch, which nobody could have known.
    """
    sentences = []
    tested = [
        (fact.final_test, name)
        for name, fact in zip(names, facts, strict=True)
        if fact.final_test is not None
    ]
    if len(tested) > 1:
        (top, best), (low, worst) = max(tested), min(tested)
        sentences.append(
            f"{shown(best)} ends with the highest test accuracy, {percent(top)}: {points(top - low)} above"
            f" {shown(worst)}."
        )
    kept = [
        (fact.memorised, name) for name, fact in zip(names, facts, strict=True) if fact.memorised is not None
    ]
    if len(kept) > 1:
        (least, quiet), (most, loud) = min(kept), max(kept)
        sentences.append(
            f"{shown(loud)} repeats {percent(most, 0)} of the wrong or suspected labels, {shown(quiet)}"
            f" {percent(least, 0)}."
        )
    return sentences


def _ridge(run: Evidence, name: str, number: int) -> Shown:
    picture = show({f"ridge{number}": RUN_PICTURES["margins"]}, run, word=run.word)[0]
    return Shown(picture.name, shown(name, 80), "", picture.markup, picture.why_not, wide=False)
