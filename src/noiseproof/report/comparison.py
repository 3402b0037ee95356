"""``comparison.html``: one page for several experiments, each with one or more seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from ..data import LabelledData
from ..dynamics import RunFolder
from ..files import DamagedFileError, read_json
from .evidence import Evidence, Group, NotAvailableError, Source, groups_of
from .markup import render
from .page_figures import COMPARISON_FIGURES, RUN_FIGURES, RenderedFigure, arrange, render_figures
from .summary import Facts, facts_of, mean_of, verdict
from .suspects import suspects_of
from .tables import comparison_table, settings_table
from .text import count, one_line, percent, points

TABLE, CONFIG = "table.json", "config.json"


def is_comparison(folder: str | Path) -> bool:
    """Whether a folder is that of a comparison, not of a run."""
    path = Path(folder)
    return (path / TABLE).is_file() and not (path / CONFIG).is_file()


def runs_in(folder: str | Path) -> list[Evidence]:
    """The runs of a comparison in the order of its table, without failed runs and runs without a record.

    Only the names of the run folders are read from the table, so a comparison may be moved.
    """
    path = Path(folder)
    if not is_comparison(path):
        raise FileNotFoundError(
            f"{path} is not a comparison: it must contain the {TABLE} that compare writes"
        )
    found = []
    for name in _names(path / TABLE):
        try:
            evidence = Evidence(RunFolder(path / name))
            _ = evidence.record
        except (FileNotFoundError, NotAvailableError):
            continue
        found.append(evidence)
    return found


def _names(table: Path) -> list[str]:
    try:
        rows = read_json(table)["rows"]
        return [Path(run["folder"]).name for row in rows for run in row["runs"]]
    except (OSError, ValueError, TypeError, KeyError) as problem:
        reason = problem.reason if isinstance(problem, DamagedFileError) else repr(problem)
        raise DamagedFileError(table, reason, remedy="run the comparison again") from None


def title_of(groups: Sequence[Group]) -> str:
    """The number of experiments, and of seeds if it is the same for all."""
    numbers = {len(group.runs) for group in groups}
    title = f"{count(len(groups), 'run' if numbers == {1} else 'experiment')} compared"
    if numbers == {1}:
        return title
    return f"{title}, {count(numbers.pop(), 'seed')} each" if len(numbers) == 1 else title


def best_group(means: Sequence[Facts]) -> int:
    """Number of the group with the highest final test accuracy; without test data, with the lowest
    memorisation. The best epoch does not count, since training cannot select it."""
    tested = [number for number, fact in enumerate(means) if fact.final_test is not None]
    if tested:
        return max(tested, key=lambda number: means[number].final_test or 0.0)
    return min(range(len(means)), key=lambda number: 1.0 if (m := means[number].memorised) is None else m)


def common(groups: Sequence[Group]) -> str:
    """A sentence about the settings that all runs have in common; "" if there are none."""
    settings = [run.settings for group in groups for run in group.runs]
    same = {
        name: value
        for name in ("data", "noise", "model", "epochs")
        if (value := settings[0].get(name)) is not None
        and all(other.get(name) == value for other in settings)
    }
    if "data" not in same:
        return ""
    words = f"All were trained on {same['data']}"
    words += f" with noise {same['noise']}" if "noise" in same else ""
    words += f", with the network {same['model']}" if "model" in same else ""
    words += f", for {same['epochs']} epochs" if "epochs" in same else ""
    return one_line(f"{words}.", 400)


def compare(groups: Sequence[Group], means: Sequence[Facts]) -> list[str]:
    """Sentences about the differences in final test accuracy and memorisation."""
    named = list(zip([one_line(group.name, 80) for group in groups], means, strict=True))
    sentences = []
    tested = [(fact.final_test, name) for name, fact in named if fact.final_test is not None]
    if len(tested) > 1:
        (top, best), (low, worst) = max(tested), min(tested)
        mean = ", the mean of its seeds" if any(len(group.runs) > 1 for group in groups) else ""
        sentences.append(
            f"{best} ends with the highest test accuracy, {percent(top)}{mean}: {points(top - low)} above"
            f" {worst}."
        )
    kept = [(fact.memorised, name) for name, fact in named if fact.memorised is not None]
    if len(kept) > 1:
        (least, lowest), (most, highest) = min(kept), max(kept)
        known = {run.word for group in groups for run in group.runs}
        words = known.pop() if len(known) == 1 else "wrong or suspected"
        sentences.append(
            f"{highest} predicts {percent(most, 0)} of the {words} labels, {lowest} {percent(least, 0)}."
        )
    return sentences


NAME = "report.html"
MAX_RIDGE_PLOTS = 8
FIRST, MAX_SUSPECTS = 14, 42
"""Number of visible suspects, and of all suspects on the page."""


def write_comparison(
    runs: Sequence[Source] | str | Path,
    path: str | Path | None = None,
    *,
    data: LabelledData | str | None = None,
) -> Path:
    """Write one HTML file that compares runs; runs that differ only in their seed are averaged.

    Args:
        runs: several runs, or the folder of a comparison.
        path: the file, by default ``report.html`` in the folder of the comparison.
        data: the inputs, for thumbnails of suspects; by default loaded from the source of the best run.

    Example:
        >>> import tempfile
        >>> from noiseproof import report, testing
        >>> runs = [testing.example_record(), testing.example_record(seed=1)]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report.write_comparison(runs, f"{folder}/comparison.html").name
        'comparison.html'
    """
    if isinstance(runs, (str, Path)):
        found, target = runs_in(runs), Path(runs) / NAME if path is None else Path(path)
    elif path is None:
        raise ValueError("several runs have no common folder: pass path=... for the page")
    else:
        found, target = [Evidence.of(run) for run in runs], Path(path)
    if len(found) < 2:
        raise ValueError(
            f"a comparison needs at least two runs with a record, got {len(found)}; use report.write for one"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, comparison_page(found, data))
    return target


def comparison_page(runs: Sequence[Evidence], data: LabelledData | str | None = None) -> str:
    """The HTML of several runs."""
    groups = groups_of(runs)
    names = [one_line(group.name, 80) for group in groups]
    facts = [[facts_of(run) for run in group.runs] for group in groups]
    means = [mean_of(of_seeds) for of_seeds in facts]
    word = " or ".join(sorted({run.word for run in runs}, reverse=True))
    best = best_group(means)
    chosen = groups[best].runs[0]
    return render(
        "comparison.html",
        title=title_of(groups),
        sentences=[common(groups), *compare(groups, means)],
        pictures=arrange(render_figures(COMPARISON_FIGURES, runs, word=word)),
        ridges=arrange([_ridge(group, number) for number, group in enumerate(groups[:MAX_RIDGE_PLOTS])]),
        verdicts=[(name, verdict(fact)) for name, fact in zip(names, means, strict=True)],
        runs=comparison_table(names, facts),
        suspects=suspects_of(chosen, data, MAX_SUSPECTS),
        best_run=names[best],
        seed=chosen.settings.get("seed") if len(groups[best].runs) > 1 else None,
        first=FIRST,
        tables=[settings_table(group.runs[0], name) for group, name in zip(groups, names, strict=True)],
        version=__version__,
    )


def _ridge(group: Group, number: int) -> RenderedFigure:
    run = group.runs[0]
    picture = render_figures({f"ridge{number}": RUN_FIGURES["margins"]}, run, word=run.word)[0]
    return RenderedFigure(
        picture.name, one_line(group.name, 80), "", picture.markup, picture.why_not, wide=False
    )
