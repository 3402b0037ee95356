"""A figure that plots runs: its plots, and the cells of tables whose runs it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..dynamics.run_folder import RESULT
from ..losses import get as get_loss
from ..report import NothingToShow
from ..report.evidence import Evidence, Source
from ..report.wording import drawn
from .manifest import Manifest
from .plan import OWN
from .tables import get

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Plot = Callable[..., "Axes"]
COLUMNS = 3
"""Pictures side by side, where there is one of each run."""


class Selection(NamedTuple):
    """Cells of a table whose runs are drawn."""

    table: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def command(self) -> str:
        """What trains them, one seed each."""
        rows = [f" --rows '{row}'" for row in self.rows]
        columns = [f" --columns '{column}'" for column in self.columns]
        return f"noiseproof papers run {self.table}{''.join(rows + columns)} --seeds 1"

    def runs(self, out: Path) -> list[Path | None]:
        """The finished run of each cell with the lowest seed, or None; one that cells share, once."""
        manifest = Manifest(out)
        found: dict[Path | None, None] = {}
        for cell in get(self.table).select(self.rows, self.columns).cells:
            mine = [run for role, run in manifest.of_cell(self.table, cell.row, cell.column) if role == OWN]
            mine.sort(key=lambda run: int(run["config"]["seed"]))
            done = [out / run["folder"] for run in mine if (out / run["folder"] / RESULT).is_file()]
            found[done[0] if done else None] = None
        return list(found)


@dataclass(frozen=True)
class RunFigure:
    """What one figure shows."""

    title: str
    plots: tuple[Plot, ...]
    of: tuple[Selection, ...]
    each: bool = False
    """Every run in a picture of its own; else all in one."""
    by: str = ""
    """All in one, but apart where this differs: "noise", or "lam" of the loss."""
    size: tuple[float, float] = (5.6, 4.0)
    """Of a picture, in inches."""

    def runs(self, out: Path) -> list[Path]:
        """Those a paper draws, of a folder of runs; an error that says how to train what is not there."""
        found = [(selection, selection.runs(out)) for selection in self.of]
        if missing := [selection.command() for selection, runs in found if None in runs]:
            raise ValueError(f"runs of this figure are not in {out}; to train them: {'; '.join(missing)}")
        return [run for _, runs in found for run in runs if run is not None]

    def draw(self, runs: Sequence[Source]) -> Figure:
        """The figure of these runs."""
        from matplotlib.figure import Figure

        if not runs:
            raise ValueError("a figure of runs needs the folder of at least one run")
        groups = self._groups([Evidence.of(run) for run in runs])
        wrapped = len(self.plots) == 1 and self.each
        columns = min(COLUMNS, len(groups)) if wrapped else len(groups)
        lines = -(-len(groups) // columns) * len(self.plots)
        width, height = self.size
        figure = Figure(figsize=(width * columns, height * lines + 0.4), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False)
        pictures = [(plot, name, group) for plot in self.plots for name, group in groups.items()]
        for ax, (plot, name, group) in zip(axes.flat, pictures, strict=False):
            plot(group[0] if self.each else group, ax=ax)
            ax.set_title(name, loc="left", fontsize="medium", pad=24 if self.each else 6)
        for ax in list(axes.flat)[len(pictures) :]:
            ax.set_axis_off()
        figure.suptitle(self.title, fontsize="medium")
        return figure

    def _groups(self, runs: list[Evidence]) -> dict[str, list[Evidence]]:
        groups: dict[str, list[Evidence]] = {}
        for number, run in enumerate(runs, 1):
            name = _name(run) if self.each else _apart(run, self.by)
            if self.each and name in groups:
                name = f"{name} (run {number})"
            groups.setdefault(name, []).append(run)
        return groups


def _name(run: Evidence) -> str:
    settings = run.settings
    spec = settings.get("method") or settings.get("loss") or run.name
    labels = settings.get("noise") or settings.get("data") or "labels as given"
    return f"{drawn(spec, 40)}, {drawn(labels, 30)}"


def _apart(run: Evidence, by: str) -> str:
    if by == "noise":
        return drawn(run.settings.get("noise") or "labels as given", 40)
    if by == "lam":
        lam = getattr(get_loss(run.settings.get("loss", "ce")), "lam", None)
        if lam is None:
            raise NothingToShow(f"{run.name} was not trained with gr, so it has no lambda")
        return f"λ = {lam:g}"
    return ""
