"""Figures of the papers that need no training: emphasis curves and initial margins."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...losses import curve
from ...losses.curves.drawing import (
    COLOURS,
    DASHES,
    grid,
    plot_curves,
    plot_initial_margins,
    simulate_initial_margins,
)
from ..table_builder import read
from .analytic import untrained_margins

LONG_LEGEND = 6
"""With this number of entries or more, the legend needs space above the curves."""


@dataclass(frozen=True)
class CurveFigure:
    """The contents of a figure: one list of loss specs per panel."""

    title: str
    panels: dict[str, list[str]]
    x: str = "p"
    kind: str = "emphasis"
    """"emphasis", "weight" (L1 norm, twice that), "unit" (divided by its peak), "value" or "start"."""
    classes: tuple[int, ...] = ()
    """Numbers of classes whose initial margins are drawn too; the first one is used for scale and shift."""


def draw_panels(wanted: CurveFigure) -> Figure:
    """Draw the panels in one, two or four columns."""
    import matplotlib.pyplot as plt

    count = len(wanted.panels)
    columns = min(count, 2 if count <= 4 else 4)
    rows = -(-count // columns)
    width, height = {1: (6.8, 4.4), 2: (5.6, 4.0)}.get(columns, (4.6, 3.6))
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=size, layout="constrained")
    for panel, ax in zip(wanted.panels, axes.flat, strict=False):
        _draw_panel(wanted, panel, ax)
    figure.suptitle(wanted.title, fontsize="medium")
    return figure


def _draw_panel(wanted: CurveFigure, panel: str, ax: Axes) -> None:
    classes = wanted.classes[0] if wanted.classes else None
    curves = [curve(spec, classes) for spec in wanted.panels[panel]]
    ax.set_title(panel, fontsize="medium")
    if wanted.kind == "start":
        _draw_start(wanted.classes, ax)
    elif wanted.kind == "value":
        _draw_values(wanted.panels[panel], ax)
    else:
        factor = 2.0 if wanted.kind == "weight" else 1.0
        plot_curves(curves, ax=ax, x=wanted.x, unit=wanted.kind == "unit", factor=factor)
        if wanted.kind == "weight" and len(curves) >= LONG_LEGEND:
            ax.set_ylim(top=1.25 * ax.get_ylim()[1])
        for number, count in enumerate(wanted.classes):
            plot_initial_margins(count, ax=ax, x=wanted.x, number=number, measured=untrained_margins(count))
        if wanted.x == "margin":
            small = "x-small" if len(wanted.panels) > 1 else "small"
            ax.legend(frameon=False, fontsize=small, handlelength=2.4, loc="upper right", borderaxespad=0)
    ax.set_title(panel, fontsize="medium")


def _draw_values(specs: list[str], ax: Axes) -> None:
    p, margin = grid("p")
    for number, spec in enumerate(specs):
        ax.plot(p, curve(spec).value(margin), color=COLOURS[number], linestyle=DASHES[number], label=spec)
    ax.set(xlabel="probability of the label, p", ylabel="loss", ylim=(0, 25))
    ax.legend(frameon=False, fontsize="small", handlelength=3)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_start(classes: tuple[int, ...], ax: Axes) -> None:
    for number, count in enumerate(classes):
        density, edges = torch.histogram(simulate_initial_margins(count, 200_000), 60, density=True)
        middle, colour, words = (edges[1:] + edges[:-1]) / 2, COLOURS[number], f"{count} classes, "
        ax.plot(middle, density, color=colour, linestyle=DASHES[number], label=f"{words}simulated")
        margins, network = untrained_margins(count)
        heights, edges = torch.histogram(margins, 40, density=True)
        steps = torch.cat([heights, heights[-1:]])
        ax.fill_between(
            edges, steps, step="post", color=colour, alpha=0.25, linewidth=0, label=words + network
        )
    ax.set(xlabel="margin Δ", ylabel="density")
    ax.set_ylim(0, 1.4 * ax.get_ylim()[1])
    ax.legend(frameon=False, fontsize="small", handlelength=3)
    ax.spines[["top", "right"]].set_visible(False)


CURVE_FIGURES = {
    name: CurveFigure(**about | {"classes": tuple(about.get("classes", ()))})
    for name, about in read("figures")["curves"].items()
}
