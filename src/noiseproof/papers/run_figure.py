"""A figure that plots runs: its plots, and the cells of tables whose runs it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..losses import get as get_loss
from ..report import NothingToShow
from ..report.evidence import Evidence, Source
from ..report.wording import drawn, percent
from .run_names import names_of
from .selection import Selection, check_found

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Plot = Callable[..., "Axes"]
COLUMNS = 3
"""Pictures side by side, where there is one of each run."""


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
    final: bool = False
    """Whether the test accuracy at the end stands over the picture of a run."""
    size: tuple[float, float] = (5.6, 4.0)
    """Of a picture, in inches."""

    def runs(self, out: Path) -> list[Path]:
        """Those a paper draws, of a folder of runs; an error that says how to train what is not there."""
        return check_found(self.of, out)

    def draw(self, runs: Sequence[Source]) -> Figure:
        """The figure of these runs."""
        from matplotlib.figure import Figure

        groups = self.groups(runs)
        figure = Figure(figsize=self.inches(len(groups)), layout="constrained")
        self.draw_on(figure, groups)
        return figure

    def inches(self, groups: int) -> tuple[float, float]:
        """Width and height of a figure of so many groups of runs."""
        lines, columns = self._shape(groups)
        return self.size[0] * columns, self.size[1] * lines + 0.4

    def draw_on(self, canvas: Figure | SubFigure, groups: Mapping[str, list[Evidence]]) -> None:
        """All pictures on a figure, or on a part of one."""
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
        """The runs of each picture, by the words over it."""
        if not runs:
            raise ValueError("a figure of runs needs the folder of at least one run")
        found = [Evidence.of(run) for run in runs]
        if self.each:
            return {name: [run] for name, run in zip(names_of(found), found, strict=True)}
        groups: dict[str, list[Evidence]] = {}
        for run in found:
            groups.setdefault(_apart(run, self.by), []).append(run)
        return groups


def _final(run: Evidence) -> str:
    try:
        return f"test accuracy {percent(run.series('test_accuracy')[1][-1])}"
    except NothingToShow:
        return "test accuracy not measured"


def _apart(run: Evidence, by: str) -> str:
    if by == "noise":
        return drawn(run.settings.get("noise") or "labels as given", 40)
    if by == "lam":
        lam = getattr(get_loss(run.settings.get("loss", "ce")), "lam", None)
        if lam is None:
            raise NothingToShow(f"{run.name} was not trained with gr, so it has no lambda")
        return f"λ = {lam:g}"
    return ""
