"""One page for several experiments, each with one seed or more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from ..data import LabelledData
from .comparison_folder import runs_in
from .comparison_words import common, compare, title_of, winner
from .evidence import Evidence, Source
from .facts import facts_of, mean_of
from .groups import Group, groups_of
from .pictures import COMPARISON_PICTURES, RUN_PICTURES, Shown, arranged, show
from .summary import verdict
from .suspects import suspects_of
from .tables import comparison_table, settings_table
from .template import render
from .wording import shown

NAME = "report.html"
MOST_RIDGES = 8
FIRST, MOST_SUSPECTS = 14, 42
"""Suspects in sight, and in all."""


def write_comparison(
    runs: Sequence[Source] | str | Path,
    path: str | Path | None = None,
    *,
    data: LabelledData | str | None = None,
) -> Path:
    """Write one HTML file that sets runs beside each other; seeds of the same settings are taken together.

    Args:
        runs: several runs, or the folder ``noiseproof compare`` wrote.
        path: where to, by default ``report.html`` in the folder of the comparison.
        data: the inputs, for thumbnails of the suspects of the best run; by default loaded again.

    Example:
        >>> import tempfile
        >>> from noiseproof import report
        >>> runs = [report.example_record(), report.example_record(seed=1)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.write_comparison(runs, f"{folder}/comparison.html").name
        'comparison.html'
    """
    if isinstance(runs, (str, Path)):
        found, target = runs_in(runs), Path(runs) / NAME if path is None else Path(path)
    elif path is None:
        raise ValueError("several runs have no folder of their own: say where the page goes with path=...")
    else:
        found, target = [Evidence.of(run) for run in runs], Path(path)
    if len(found) < 2:
        raise ValueError(
            f"a comparison needs two runs or more, got {len(found)}; for one run use report.write"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, comparison_page(found, data))
    return target


def comparison_page(runs: Sequence[Evidence], data: LabelledData | str | None = None) -> str:
    """The HTML of several runs."""
    groups = groups_of(runs)
    names = [shown(group.name, 80) for group in groups]
    facts = [[facts_of(run) for run in group.runs] for group in groups]
    means = [mean_of(of_seeds) for of_seeds in facts]
    word = " or ".join(sorted({run.word for run in runs}, reverse=True))
    best = winner(means)
    chosen = groups[best].runs[0]
    return render(
        "comparison.html",
        title=title_of(groups),
        sentences=[common(groups), *compare(groups, means)],
        pictures=arranged(show(COMPARISON_PICTURES, runs, word=word)),
        ridges=arranged([_ridge(group, number) for number, group in enumerate(groups[:MOST_RIDGES])]),
        verdicts=[(name, verdict(fact)) for name, fact in zip(names, means, strict=True)],
        runs=comparison_table(names, facts),
        suspects=suspects_of(chosen, data, MOST_SUSPECTS),
        finder=names[best],
        seed=chosen.settings.get("seed") if len(groups[best].runs) > 1 else None,
        first=FIRST,
        tables=[settings_table(group.runs[0], name) for group, name in zip(groups, names, strict=True)],
        version=__version__,
    )


def _ridge(group: Group, number: int) -> Shown:
    run = group.runs[0]
    picture = show({f"ridge{number}": RUN_PICTURES["margins"]}, run, word=run.word)[0]
    return Shown(picture.name, shown(group.name, 80), "", picture.markup, picture.why_not, wide=False)
