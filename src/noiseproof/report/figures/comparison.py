"""Several experiments in one picture: how they learn, what they memorise, where their margins end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from matplotlib.axes import Axes

from ...losses.curves.drawing import DASHES
from ..evidence import Evidence, Group, NothingToShow, Source, groups_of
from ..palette import finished, legend, loss_lines, new_axes, plain
from ..wording import drawn
from .curves import subset_curves
from .margins import draw_rows, span_of, split

MOST_ROWS = 20
Curve: TypeAlias = tuple[Sequence[int], Sequence[float]]
"""Epochs, and a value for each."""


def plot_test_accuracy(runs: Sequence[Source], *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Test accuracy over epochs (or ``x="iteration"``), one line per experiment; every loss has its colour.

    Runs that differ by their seed alone are one line, their mean, with a band from the lowest to the highest.
    A robust loss ends where it was best; a line that rises and falls has memorised wrong labels.
    """
    axes, groups = plain(new_axes(ax)), groups_of([Evidence.of(run) for run in runs])
    drawn_any = False
    for group, line in zip(groups, group_lines(groups), strict=True):
        try:
            draw_seeds(axes, group.runs, [run.series("test_accuracy") for run in group.runs], line, x)
            drawn_any = True
        except NothingToShow:
            continue
    if not drawn_any:
        raise NothingToShow("test accuracy was not measured in these runs")
    return finished(axes, "test accuracy", x)


def plot_memorised(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Share of wrong (or suspected) labels that each experiment repeats, over the epochs: low is good.

    Runs that differ by their seed alone are one line, their mean, with a band from the lowest to the highest.

    Example:
        >>> from noiseproof.report import example_record, plot_memorised
        >>> plot_memorised([example_record(), example_record(seed=1)]).get_ylabel()
        'wrong labels memorised'
    """
    found = [Evidence.of(run) for run in runs]
    axes, groups = plain(new_axes(ax)), groups_of(found)
    for group, line in zip(groups, group_lines(groups), strict=True):
        curves = [subset_curves(run)[f"{run.word} labels, memorised"] for run in group.runs]
        draw_seeds(axes, group.runs, [(range(1, len(values) + 1), values) for values in curves], line)
    words = " or ".join(dict.fromkeys(evidence.word for evidence in found))
    return finished(axes, f"{words} labels memorised")


def plot_final_margins(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Margins of right and wrong labels at the end, one row per experiment, all its seeds together.

    Two hills apart, the wrong labels on the left: the network learned without believing them. Of very many
    experiments the first twenty are drawn.

    Example:
        >>> from noiseproof.report import example_record, plot_final_margins
        >>> len(plot_final_margins([example_record(), example_record(seed=1)]).get_yticks())
        2

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 3 and 9
    """
    groups = groups_of([Evidence.of(run) for run in runs])[:MOST_ROWS]
    rows = []
    for group in groups:
        margins = torch.cat([run.record.margin[-1] for run in group.runs])
        rows.append(split(margins, torch.cat([run.doubted for run in group.runs]), drawn(group.name, 32)))
    axes = new_axes(ax, 6.2, 1.4 + 0.5 * len(rows))
    words = {run.word for group in groups for run in group.runs}
    draw_rows(axes, rows, span_of(rows), words.pop() if len(words) == 1 else "suspected")
    axes.set_xlabel("margin Δ after the last epoch")
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def group_lines(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Label, colour and dash of each group: one colour per loss, a dash for each further group."""
    specs = [group.spec for group in groups]
    lines, found = loss_lines(specs), []
    for number, (group, spec) in enumerate(zip(groups, specs, strict=True)):
        earlier = specs[:number].count(spec)
        dash = DASHES[(DASHES.index(lines[spec]["linestyle"]) + earlier) % len(DASHES)]
        look = {"color": lines[spec]["color"], "linestyle": dash, "linewidth": 1.8}
        found.append({"label": drawn(group.name, 40), **look})
    return found


def draw_seeds(
    ax: Axes, runs: Sequence[Evidence], curves: Sequence[Curve], line: dict[str, Any], x: str = "epoch"
) -> None:
    """The mean over the epochs that all seeds have, and the range of the seeds behind it."""
    found = [dict(zip(*curve, strict=True)) for curve in curves]
    epochs = sorted(set.intersection(*(set(curve) for curve in found)))
    values = np.array([[curve[epoch] for epoch in epochs] for curve in found])
    places = runs[0].along(x, epochs)
    if len(values) > 1:
        ax.fill_between(
            places, values.min(0), values.max(0), color=line["color"], alpha=0.15, linewidth=0, zorder=1.5
        )
    ax.plot(places, values.mean(0), **line)
