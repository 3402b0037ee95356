"""``report.html``: one self-contained page per run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..atomic import write_text
from ..data import LabelledData
from ..data.host import on_the_cpu
from ..dynamics import Record, RunFolder
from .evidence import Evidence, Source
from .facts import Facts, facts_of
from .pictures import RUN_PICTURES, arranged, show
from .summary import summarise, verdict
from .suspects import suspects_of
from .tables import class_table, epoch_table, settings_table
from .template import render
from .wording import NONE, count, percent, shown

NAME = "report.html"
FIRST = 20
"""Suspects in sight; the others are behind a fold."""


@dataclass(frozen=True)
class Tile:
    """A number in large print."""

    value: str
    name: str
    note: str = ""


def write(run: Source, path: str | Path | None = None, *, data: LabelledData | str | None = None) -> Path:
    """Write the report of a run: one HTML file that needs nothing else, and no network.

    Args:
        run: a run, its folder, or a Record.
        path: where to, by default ``report.html`` in the folder of the run.
        data: the inputs, for thumbnails; by default loaded again from the source the run names.

    Example:
        >>> import tempfile
        >>> from noiseproof import report
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = report.write(report.example_record(), f"{folder}/report.html")
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
    pictures = show(RUN_PICTURES, evidence, word=evidence.word, options={"sheet": {"data": data}})
    return render(
        "run.html",
        title=shown(evidence.name, 100),
        verdict=verdict(facts),
        sentences=summarise(evidence, facts),
        tiles=tiles(facts),
        pictures=arranged(pictures),
        missing=[picture for picture in pictures if picture.markup is None],
        suspects=suspects_of(evidence, data),
        first=FIRST,
        tables=[class_table(evidence), epoch_table(evidence), settings_table(evidence)],
        version=__version__,
        finished=not isinstance(evidence.run, RunFolder) or evidence.run.finished,
        is_known=evidence.is_known,
    )


def tiles(facts: Facts) -> list[Tile]:
    """The numbers one looks for first; those that are not known are left out."""
    word = "wrong" if facts.is_known else "suspected"
    best = f"best {percent(facts.best_test)} in epoch {facts.best_epoch}"
    found = [
        Tile(percent(facts.final_test), "test accuracy at the end", best if facts.best_epoch else ""),
        Tile(
            percent(facts.memorised, 0),
            f"of {word} labels memorised",
            f"{percent(facts.doubted)} of labels {word}",
        ),
        Tile(percent(facts.recovered, 0), "of wrong labels seen through", "predicted as their true class"),
        Tile(percent(facts.gradient_share, 0), f"of the gradient on {word} labels", "in the last epoch"),
    ]
    found = found if facts.memorised is not None else found[:1]
    kept = [tile for tile in found if tile.value != NONE]
    notes = ["weak evidence"] if facts.weak else []
    notes += [] if facts.precision is None else [f"{percent(facts.precision, 0)} of them really wrong"]
    return [*kept, Tile(count(facts.suspects), "suspects", ", ".join(notes))]


def _target(evidence: Evidence, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path)
    if isinstance(evidence.run, Record):
        raise ValueError("a record alone has no folder: say where the report goes with path=...")
    return evidence.run.folder / NAME
