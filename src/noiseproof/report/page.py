"""``report.html``: one self-contained page per run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from ..data import LabelledData
from ..dynamics import Record, RunFolder
from ..memory import on_the_cpu
from .evidence import Evidence, Source
from .markup import render
from .page_figures import RUN_FIGURES, arrange, render_figures
from .summary import Facts, facts_of, summarise, verdict
from .suspects import suspects_of
from .tables import class_table, corrections_of, epoch_table, settings_table
from .text import NONE, count, one_line, percent

NAME = "report.html"
FIRST = 14
"""Number of visible suspects; the others are in a collapsed section."""


@dataclass(frozen=True)
class Tile:
    """A highlighted number."""

    value: str
    name: str
    note: str = ""


def write(run: Source, path: str | Path | None = None, *, data: LabelledData | str | None = None) -> Path:
    """Write the report of a run, a self-contained HTML file.

    Args:
        run: a run, its folder, or a Record.
        path: the file, by default ``report.html`` in the folder of the run.
        data: the inputs, for thumbnails; by default loaded from the source of the run.

    Example:
        >>> import tempfile
        >>> from noiseproof import report, testing
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = report.write(testing.example_record(), f"{folder}/report.html")
        ...     path.read_text().count("<figure")
        6
    """
    evidence = Evidence.of(run)
    target = _target(evidence, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with on_the_cpu():
        write_text(target, page(evidence, data))
    return target


def page(evidence: Evidence, data: LabelledData | str | None = None) -> str:
    """The HTML of a run."""
    facts = facts_of(evidence)
    pictures = render_figures(RUN_FIGURES, evidence, word=evidence.word, options={"sheet": {"data": data}})
    return render(
        "run.html",
        title=one_line(evidence.name, 100),
        verdict=verdict(facts),
        sentences=summarise(evidence, facts),
        tiles=tiles(facts),
        learning=learning_tiles(facts),
        corrections=corrections_of(evidence),
        review=_review_command(evidence),
        pictures=arrange(pictures),
        missing=[picture for picture in pictures if picture.markup is None],
        suspects=suspects_of(evidence, data),
        first=FIRST,
        tables=[class_table(evidence), epoch_table(evidence), settings_table(evidence)],
        version=__version__,
        finished=not isinstance(evidence.run, RunFolder) or evidence.run.finished,
        is_known=evidence.is_known,
    )


def tiles(facts: Facts) -> list[Tile]:
    """The most important numbers with explanations; unknown numbers are left out."""
    best = f"; the best epoch, {facts.best_epoch}, had {percent(facts.best_test)}" if facts.best_epoch else ""
    found = [
        Tile(
            percent(facts.final_test),
            "test accuracy",
            f"share of the test samples whose label the final network predicts{best}",
        ),
        _wrong_tile(facts),
        Tile(count(facts.suspects), "suspects", _suspects_note(facts)),
    ]
    return [tile for tile in found if tile.value != NONE]


def learning_tiles(facts: Facts) -> list[Tile]:
    """Memorisation, recovery and gradient on doubted labels; [] if no label is doubted."""
    word = "wrong" if facts.is_known else "suspected"
    if facts.memorised is None:
        return []
    found = [
        Tile(
            percent(facts.memorised, 0),
            f"of {word} labels memorised",
            "the final network predicts them; lower is better",
        ),
        Tile(
            percent(facts.recovered, 0),
            "of wrong labels recovered",
            "the final network predicts their true class; higher is better",
        ),
        Tile(
            percent(facts.gradient_share, 0),
            f"of the gradient on {word} labels",
            f"in the last epoch; they are {percent(facts.doubted, 0)} of the labels",
        ),
    ]
    return [tile for tile in found if tile.value != NONE]


def _wrong_tile(facts: Facts) -> Tile:
    """The share of wrong labels, known or estimated."""
    estimate = "estimated from the record, without clean labels"
    if facts.is_known and facts.memorised is not None:
        number = count(round(facts.doubted * facts.samples), "label")
        rate = "" if facts.noise_rate is None else f"; {percent(facts.noise_rate)} {estimate}"
        note = f"{number} of {count(facts.samples)}{rate}"
        return Tile(percent(facts.doubted), "of the labels are wrong", note)
    if facts.noise_rate is None:
        return Tile(NONE, "")
    number = count(round(facts.noise_rate * facts.samples))
    note = f"about {number} of {count(facts.samples)} labels, {estimate}"
    return Tile(percent(facts.noise_rate), "of the labels are probably wrong", note)


def _suspects_note(facts: Facts) -> str:
    notes = ["weak evidence"] if facts.weak else []
    if facts.precision is not None:
        notes.append(f"{percent(facts.precision, 0)} of them truly wrong")
    elif facts.expected_wrong is not None:
        notes.append(f"about {count(round(facts.expected_wrong))} of them truly wrong")
    return "; ".join([*notes, "labels that are probably wrong, listed below"])


def _review_command(evidence: Evidence) -> str | None:
    """The command that reviews the suspects; None for a record without a run folder."""
    if isinstance(evidence.run, Record):
        return None
    return f"noiseproof labels review {shlex.quote(one_line(evidence.run.folder, 500))} --open"


def _target(evidence: Evidence, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    if isinstance(evidence.run, Record):
        raise ValueError("a record has no folder: pass path=... for the report")
    return evidence.run.folder / NAME
