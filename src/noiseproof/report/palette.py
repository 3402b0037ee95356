"""One look for every figure: what each colour means, and axes to draw on.

The colours are those of Okabe and Ito, which people with any colour vision tell apart; every line also has a
dash of its own, so that figures survive a black and white printer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ..losses.curves.drawing import COLOURS, DASHES

CLEAN, WRONG, RECOVERED, SUSPECTED = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
INK, FAINT, PAPER = "#000000", "#6e6e6e", "#fefefe"
"""Writing, what stays behind it, and the page."""
CLEAN_LINE: dict[str, Any] = {"color": CLEAN, "linestyle": "-", "linewidth": 1.8}
WRONG_LINE: dict[str, Any] = {"color": WRONG, "linestyle": "--", "linewidth": 1.8}
SUSPECTED_LINE: dict[str, Any] = {"color": SUSPECTED, "linestyle": "--", "linewidth": 1.8}
RECOVERED_LINE: dict[str, Any] = {"color": RECOVERED, "linestyle": "-.", "linewidth": 1.8}
TEST_LINE: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 2.2}
CLASS_COLOURS = tuple(colour for colour in COLOURS if colour != INK)
"""Of points, which cannot follow the page from black to white."""
MARKERS = "osD^vPX*"
MOST_NAMES = 12
"""In a legend."""
FEW = 10
"""Points of a line that are each marked."""
FAMILIES = ("ce", "gce", "mae", "sl", "imae", "aul", "nce", "gr")
"""Losses that always have the colour of their place."""


def new_axes(ax: Axes | None, width: float = 5.6, height: float = 3.6) -> Axes:
    """The axes given, or those of a new figure that belongs to no window."""
    if ax is not None:
        return ax
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def plain(ax: Axes, title: str = "", *, grid: bool = True) -> Axes:
    """No frame, a faint grid, a title that stands left."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(True, color=FAINT, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize="medium")
    return ax


def legend(ax: Axes, **settings: Any) -> None:
    """A legend without a frame, where it covers least; of very many lines the first are named."""
    look: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 2.6}
    handles, names = ax.get_legend_handles_labels()
    if len(handles) > MOST_NAMES:
        look["title"], look["title_fontsize"] = f"the first {MOST_NAMES} of {len(handles)}", "small"
        look["handles"], look["labels"] = handles[:MOST_NAMES], names[:MOST_NAMES]
    ax.legend(**(look | settings))


def as_percent(ax: Axes, *, axis: str = "y") -> None:
    """Ticks from 0 to 100%."""
    chosen = ax.yaxis if axis == "y" else ax.xaxis
    chosen.set_major_formatter(PercentFormatter(1.0, decimals=0))


def over_epochs(ax: Axes, x: str = "epoch") -> None:
    """Ticks at whole epochs, or iterations; lines of few points have markers, so that one alone is seen."""
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.set_xlabel(x)
    for line in ax.lines:
        if np.size(line.get_xdata()) <= FEW and line.get_transform() == ax.transData:
            line.set(marker="o", markersize=4)


def finished(ax: Axes, label: str, x: str = "epoch", **legend_settings: Any) -> Axes:
    """Shares from 0 to 100% over the epochs, and a legend of the lines."""
    ax.set_ylim(0, 1.02)
    over_epochs(ax, x)
    ax.set_ylabel(label)
    as_percent(ax)
    legend(ax, **legend_settings)
    return ax


def name_bars(ax: Axes, names: list[str]) -> None:
    """Names below bars at 0, 1, 2, ...; slanted where they would touch."""
    slanted = len(names) > 5 and max(map(len, names)) > 5
    ax.set_xticks(
        range(len(names)), names, rotation=35 if slanted else 0, ha="right" if slanted else "center"
    )
    ax.grid(False, axis="x")


def loss_lines(specs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and dash of each loss: known families keep theirs, others take the next that is free.

    Example:
        >>> lines = loss_lines(["unit_max(mae)", "ce", "gce(q=0.4)", "gce(q=0.7)"])
        >>> [COLOURS.index(line["color"]) for line in lines.values()]
        [2, 0, 1, 3]
    """
    wanted = list(dict.fromkeys(specs))
    places: dict[str, int] = {}
    for spec in wanted:
        family = _family(spec)
        if family is not None and family not in places.values():
            places[spec] = family
    free = [place for place in range(len(COLOURS)) if place not in places.values()]
    for number, spec in enumerate(spec for spec in wanted if spec not in places):
        places[spec] = free[number] if number < len(free) else number % len(COLOURS)
    return {spec: {"color": COLOURS[places[spec]], "linestyle": DASHES[places[spec]]} for spec in wanted}


def _family(spec: str) -> int | None:
    """Place of the first family the spec names."""
    words = re.findall(r"[a-z_]+", spec)
    return next((FAMILIES.index(word) for word in words if word in FAMILIES), None)
