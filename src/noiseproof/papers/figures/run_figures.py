"""Figures of the papers that plot runs: the cells whose runs they show, and the plots of these runs.

The contents of each figure are in ``printed/figures.json``. The losses of Figures 3, 9 and 10 of Curriculum
are our choice, as its text does not name them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from ... import report
from ...losses import get as get_loss
from ...report.evidence import Evidence, NotAvailableError, Source, names_of
from ...report.text import figure_text, percent
from ..cells import Runs
from ..plan import HOME, OWN, RUNS
from ..results import CellResults, read_folder
from ..table_builder import read
from ..tables import get
from . import run_curves


class Selection(NamedTuple):
    """Cells of a table whose runs are drawn."""

    table: str
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()

    def command(self, out: Path = HOME) -> str:
        """The command that trains these runs, one seed each, in a folder."""
        rows = [f" --rows '{row}'" for row in self.rows]
        columns = [f" --columns '{column}'" for column in self.columns]
        place = "" if out == HOME else f" --out {shlex.quote(str(out))}"
        return f"noiseproof papers run {self.table}{''.join(rows + columns)} --seeds 1{place}"

    def runs(self, out: Path) -> list[Path | None]:
        """The finished run of each runnable cell with the lowest seed, or None; each run once."""
        table = get(self.table).select(self.rows, self.columns)
        results = CellResults(table, *read_folder(out))
        own = [results(cell).get(OWN, []) for cell in table.cells if isinstance(cell.filling, Runs)]
        return list(dict.fromkeys(out / RUNS / runs[0].name if runs else None for runs in own))


def check_found(of: Sequence[Selection], out: Path) -> list[Path]:
    """The runs of all selections; ValueError with the commands that train the missing ones."""
    found = [(selection, selection.runs(out)) for selection in of]
    if missing := dict.fromkeys(selection.command(out) for selection, runs in found if None in runs):
        raise ValueError(f"runs of this figure are not in {out}; to train them: {'; '.join(missing)}")
    return [run for _, runs in found for run in runs if run is not None]


Plot = Callable[..., "Axes"]
COLUMNS = 3
"""Number of panels side by side in a figure with one panel per run."""


@dataclass(frozen=True)
class RunFigure:
    """The contents of a figure: plots, and the cells whose runs they show."""

    title: str
    plots: tuple[Plot, ...]
    of: tuple[Selection, ...]
    each: bool = False
    """Whether every run has a separate panel; by default all runs are in one panel."""
    by: str = ""
    """The setting with one panel per value: "noise", or "lam" of the loss."""
    final: bool = False
    """Whether the final test accuracy is in the title of a panel."""
    size: tuple[float, float] = (5.6, 4.0)
    """Width and height of a panel, in inches."""

    def runs(self, out: Path) -> list[Path]:
        """The runs of the figure in a folder; ValueError with the commands that train missing ones."""
        return check_found(self.of, out)

    def draw(self, runs: Sequence[Source]) -> Figure:
        """The figure of these runs."""
        return _side_by_side([self], [runs])

    def inches(self, groups: int) -> tuple[float, float]:
        """Width and height of a figure with this number of groups of runs."""
        lines, columns = self._shape(groups)
        return self.size[0] * columns, self.size[1] * lines + 0.4

    def draw_on(self, canvas: SubFigure, groups: Mapping[str, list[Evidence]]) -> None:
        """Draw all panels on a figure or subfigure."""
        axes = canvas.subplots(*self._shape(len(groups)), squeeze=False)
        pictures = [(plot, name, group) for plot in self.plots for name, group in groups.items()]
        for ax, (plot, name, group) in zip(axes.flat, pictures, strict=False):
            plot(group[0] if self.each else group, ax=ax)
            words = f"{name}\n{_final(group[0])}" if self.final else name
            ax.set_title(words, loc="left", fontsize="medium", pad=24 if self.each else 6)
        for ax in list(axes.flat)[len(pictures) :]:
            ax.set_axis_off()
        canvas.suptitle(self.title, fontsize="medium")

    def _shape(self, groups: int) -> tuple[int, int]:
        wrapped = len(self.plots) == 1 and self.each
        columns = min(COLUMNS, groups) if wrapped else groups
        return -(-groups // columns) * len(self.plots), columns

    def groups(self, runs: Sequence[Source]) -> dict[str, list[Evidence]]:
        """The runs of each panel, by the title of the panel."""
        if not runs:
            raise ValueError("a figure of runs needs the folder of at least one run")
        found = [Evidence.of(run) for run in runs]
        if self.each:
            return {figure_text(name, 80): [run] for name, run in zip(names_of(found), found, strict=True)}
        groups: dict[str, list[Evidence]] = {}
        for run in found:
            groups.setdefault(_value_of(run, self.by), []).append(run)
        return groups


def _final(run: Evidence) -> str:
    try:
        return f"test accuracy {percent(run.series('test_accuracy')[1][-1])}"
    except NotAvailableError:
        return "test accuracy not measured"


def _value_of(run: Evidence, by: str) -> str:
    if by == "noise":
        return figure_text(run.settings.get("noise") or "labels as given", 40)
    if by == "lam":
        lam = getattr(get_loss(run.settings.get("loss", "ce")), "lam", None)
        if lam is None:
            raise NotAvailableError(f"{run.name} was not trained with gr, so it has no lambda")
        return f"λ = {lam:g}"
    return ""


@dataclass(frozen=True)
class WholeFigure:
    """A figure that consists of other figures, by their names, such as sl.figure8a."""

    title: str
    parts: Mapping[str, RunFigure]

    def runs(self, out: Path) -> list[list[Path]]:
        """The runs of each part; ValueError with the commands that train missing ones."""
        check_found([selection for part in self.parts.values() for selection in part.of], out)
        return [part.runs(out) for part in self.parts.values()]

    def draw(self, runs: Sequence[Sequence[Source]]) -> Figure:
        """Draw the runs of each part in a separate panel."""
        return _side_by_side([*self.parts.values()], runs)


def _side_by_side(parts: Sequence[RunFigure], runs: Sequence[Sequence[Source]]) -> Figure:
    groups = [part.groups(found) for part, found in zip(parts, runs, strict=True)]
    sizes = [part.inches(len(names)) for part, names in zip(parts, groups, strict=True)]
    widths = [width for width, _ in sizes]
    figure = Figure(figsize=(sum(widths), max(height for _, height in sizes)), layout="constrained")
    places = figure.subfigures(1, len(sizes), width_ratios=widths, squeeze=False).flat
    for place, part, names in zip(places, parts, groups, strict=True):
        part.draw_on(place, names)
    return figure


def _plot(about: Mapping[str, Any]) -> Plot:
    """``{"plot": "tau", "stage": 1}`` is ``plot_tau`` of the report or of ``run_curves`` with ``stage=1``."""
    name, options = f"plot_{about['plot']}", {key: about[key] for key in about if key != "plot"}
    function: Plot = getattr(run_curves, name, None) or getattr(report, name)
    return partial(function, **options) if options else function


def _figure(about: Mapping[str, Any]) -> RunFigure:
    plots = tuple(map(_plot, about["plots"]))
    return RunFigure(**{**about, "plots": plots, "of": tuple(Selection(**cells) for cells in about["of"])})


RUN_FIGURES: Mapping[str, RunFigure] = {name: _figure(one) for name, one in read("figures")["runs"].items()}
WHOLE_FIGURES = {
    name: WholeFigure(about["title"], {part: RUN_FIGURES[part] for part in about["parts"]})
    for name, about in read("figures")["wholes"].items()
}
"""Figures of runs whose parts are figures too."""
