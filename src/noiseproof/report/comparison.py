"""One page for several experiments, each with one seed or more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from ..data import LabelledData
from ..dynamics import RunFolder
from ..files import DamagedFileError, read_json
from .evidence import Evidence, Group, NothingToShow, Source, groups_of
from .markup import render
from .pictures import COMPARISON_PICTURES, RUN_PICTURES, Shown, arranged, show
from .summary import Facts, facts_of, mean_of, verdict
from .suspects import suspects_of
from .tables import comparison_table, settings_table
from .wording import count, percent, points, shown

TABLE, CONFIG = "table.json", "config.json"


def is_comparison(folder: str | Path) -> bool:
    """Whether a folder holds a table of runs, rather than one run."""
    place = Path(folder)
    return (place / TABLE).is_file() and not (place / CONFIG).is_file()


def runs_in(folder: str | Path) -> list[Evidence]:
    """The runs of the table in its order; those that failed or kept no record are left out.

    Only the names of the run folders are taken from the table, so a comparison may be moved.
    """
    place = Path(folder)
    if not is_comparison(place):
        raise FileNotFoundError(f"{place} is not a comparison: expected {TABLE} in it, as compare writes it")
    found = []
    for name in _names(place / TABLE):
        try:
            evidence = Evidence(RunFolder(place / name))
            _ = evidence.record
        except (FileNotFoundError, NothingToShow):
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
    """How many experiments, and seeds where each has the same number."""
    numbers = {len(group.runs) for group in groups}
    title = f"{count(len(groups), 'run' if numbers == {1} else 'experiment')} compared"
    if numbers == {1}:
        return title
    return f"{title}, {count(numbers.pop(), 'seed')} each" if len(numbers) == 1 else title


def winner(means: Sequence[Facts]) -> int:
    """Place of the highest final test accuracy; without a test, of the fewest doubted labels repeated.

    Not of the best epoch, which training does not know.
    """
    tested = [place for place, fact in enumerate(means) if fact.final_test is not None]
    if tested:
        return max(tested, key=lambda place: means[place].final_test or 0.0)
    return min(range(len(means)), key=lambda place: 1.0 if (m := means[place].memorised) is None else m)


def common(groups: Sequence[Group]) -> str:
    """What all were trained on, as far as it is the same; empty where nothing is."""
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
    return shown(f"{words}.", 400)


def compare(groups: Sequence[Group], means: Sequence[Facts]) -> list[str]:
    """The differences in words: who ends best, who memorises most."""
    named = list(zip([shown(group.name, 80) for group in groups], means, strict=True))
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
        (least, quiet), (most, loud) = min(kept), max(kept)
        known = {run.word for group in groups for run in group.runs}
        words = known.pop() if len(known) == 1 else "wrong or suspected"
        sentences.append(
            f"{loud} repeats {percent(most, 0)} of the {words} labels, {quiet} {percent(least, 0)}."
        )
    return sentences


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
        raise ValueError("several runs have no folder of their own: pass path=... for the page")
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
