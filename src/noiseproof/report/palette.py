"""The common style of figures: colours, line styles and axes.

The colours are the colour-blind safe palette of Okabe and Ito; lines also differ in their dashes, so that
figures remain readable in black and white.
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
"""Colours of text, of secondary elements, and of the background."""
CLEAN_LINE: dict[str, Any] = {"color": CLEAN, "linestyle": "-", "linewidth": 1.8}
WRONG_LINE: dict[str, Any] = {"color": WRONG, "linestyle": "--", "linewidth": 1.8}
SUSPECTED_LINE: dict[str, Any] = {"color": SUSPECTED, "linestyle": "--", "linewidth": 1.8}
RECOVERED_LINE: dict[str, Any] = {"color": RECOVERED, "linestyle": "-.", "linewidth": 1.8}
TEST_LINE: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 2.2}
CLASS_COLOURS = tuple(colour for colour in COLOURS if colour != INK)
"""Colours of points, without black, which would be invisible on a dark page."""
MARKERS = "osD^vPX*"
MAX_LEGEND_ENTRIES = 12
"""Maximum number of legend entries."""
FEW = 10
"""Lines with at most this number of points have markers."""
FAMILIES = ("ce", "gce", "mae", "sl", "imae", "aul", "nce", "gr")
"""Losses with a fixed colour: the one of ``COLOURS`` at the same index."""


def new_axes(ax: Axes | None, width: float = 5.6, height: float = 3.6) -> Axes:
    """The given axes, or those of a new figure without pyplot."""
    if ax is not None:
        return ax
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def style_axes(ax: Axes, title: str = "", *, grid: bool = True) -> Axes:
    """Remove the frame, add a faint grid, and set a left-aligned title."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(True, color=FAINT, alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize="medium")
    return ax


def legend(ax: Axes, **settings: Any) -> None:
    """Add a legend without a frame, with at most MAX_LEGEND_ENTRIES entries."""
    look: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 2.6}
    handles, names = ax.get_legend_handles_labels()
    if len(handles) > MAX_LEGEND_ENTRIES:
        look["title"], look["title_fontsize"] = f"the first {MAX_LEGEND_ENTRIES} of {len(handles)}", "small"
        look["handles"], look["labels"] = handles[:MAX_LEGEND_ENTRIES], names[:MAX_LEGEND_ENTRIES]
    ax.legend(**(look | settings))


def as_percent(ax: Axes, *, axis: str = "y") -> None:
    """Format the ticks of an axis as percentages."""
    chosen = ax.yaxis if axis == "y" else ax.xaxis
    chosen.set_major_formatter(PercentFormatter(1.0, decimals=0))


def format_epoch_axis(ax: Axes, x: str = "epoch") -> None:
    """Set integer ticks of epochs or iterations, and markers for lines of few points."""
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.set_xlabel(x)
    for line in ax.lines:
        if np.size(line.get_xdata()) <= FEW and line.get_transform() == ax.transData:
            line.set(marker="o", markersize=4)


def finish_share_axes(ax: Axes, label: str, x: str = "epoch", **legend_settings: Any) -> Axes:
    """Format axes of shares from 0 to 100% over epochs or iterations, and add a legend."""
    ax.set_ylim(0, 1.02)
    format_epoch_axis(ax, x)
    ax.set_ylabel(label)
    as_percent(ax)
    legend(ax, **legend_settings)
    return ax


def name_bars(ax: Axes, names: list[str]) -> None:
    """Set names of bars at 0, 1, 2, ..., rotated if they would overlap."""
    slanted = len(names) > 5 and max(map(len, names)) > 5
    ax.set_xticks(
        range(len(names)), names, rotation=35 if slanted else 0, ha="right" if slanted else "center"
    )
    ax.grid(False, axis="x")


def loss_lines(specs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and dash of each loss: fixed ones for known families, the next free ones for others.

    Example:
        >>> lines = loss_lines(["unit_max(mae)", "ce", "gce(q=0.4)", "gce(q=0.7)"])
        >>> [COLOURS.index(line["color"]) for line in lines.values()]
        [2, 0, 1, 3]
    """
    wanted = list(dict.fromkeys(specs))
    numbers: dict[str, int] = {}
    for spec in wanted:
        family = _family(spec)
        if family is not None and family not in numbers.values():
            numbers[spec] = family
    free = [number for number in range(len(COLOURS)) if number not in numbers.values()]
    for position, spec in enumerate(spec for spec in wanted if spec not in numbers):
        numbers[spec] = free[position] if position < len(free) else position % len(COLOURS)
    return {spec: {"color": COLOURS[numbers[spec]], "linestyle": DASHES[numbers[spec]]} for spec in wanted}


def _family(spec: str) -> int | None:
    """Index of the first family in the spec."""
    words = re.findall(r"[a-z_]+", spec)
    return next((FAMILIES.index(word) for word in words if word in FAMILIES), None)
