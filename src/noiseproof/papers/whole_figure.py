"""A figure whose parts plot different runs: all of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..report.evidence import Source
from .run_figure import RunFigure
from .selection import check_found

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class WholeFigure:
    """Parts by their full names, such as sl.figure8a."""

    title: str
    parts: dict[str, RunFigure]

    def runs(self, out: Path) -> list[list[Path]]:
        """Those of each part; an error that says how to train all that are not there."""
        check_found([selection for part in self.parts.values() for selection in part.of], out)
        return [part.runs(out) for part in self.parts.values()]

    def draw(self, runs: Sequence[Sequence[Source]]) -> Figure:
        """The runs of each part in a picture of its own."""
        from matplotlib.figure import Figure

        groups = [part.groups(found) for part, found in zip(self.parts.values(), runs, strict=True)]
        sizes = [part.inches(len(names)) for part, names in zip(self.parts.values(), groups, strict=True)]
        widths = [width for width, _ in sizes]
        figure = Figure(figsize=(sum(widths), max(height for _, height in sizes)), layout="constrained")
        places = figure.subfigures(1, len(sizes), width_ratios=widths, squeeze=False).flat
        for place, part, names in zip(places, self.parts.values(), groups, strict=True):
            part.draw_on(place, names)
        return figure
