"""Figures of several experiments: test accuracy, memorisation and final margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from matplotlib.axes import Axes

from ...losses.curves.drawing import DASHES
from ..evidence import Evidence, Group, NotAvailableError, Source, groups_of
from ..palette import finish_share_axes, legend, loss_lines, new_axes, style_axes
from ..text import figure_text
from .curves import subset_curves
from .margins import draw_rows, make_row, span_of

MAX_ROWS = 20
Curve: TypeAlias = tuple[Sequence[int], Sequence[float]]
"""Epochs, and the value of each."""


def plot_test_accuracy(runs: Sequence[Source], *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Test accuracy over epochs (or ``x="iteration"``), one line per experiment, one colour per loss.

    Runs that differ only in their seed are drawn as their mean, with a band of their range. With a robust
    loss the last epoch is among the best; accuracy that rises and falls again indicates memorisation.
    """
    axes, groups = style_axes(new_axes(ax)), groups_of([Evidence.of(run) for run in runs])
    drawn_any = False
    for group, line in zip(groups, group_lines(groups), strict=True):
        try:
            draw_seeds(axes, group.runs, [run.series("test_accuracy") for run in group.runs], line, x)
            drawn_any = True
        except NotAvailableError:
            continue
    if not drawn_any:
        raise NotAvailableError("test accuracy was not measured in these runs")
    return finish_share_axes(axes, "test accuracy", x)


def plot_memorised(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Share of wrong (or suspected) labels that each experiment predicts, over the epochs; lower is better.

    Runs that differ only in their seed are drawn as their mean, with a band of their range.

    Example:
        >>> from noiseproof.testing import example_record
        >>> plot_memorised([example_record(), example_record(seed=1)]).get_ylabel()
        'wrong labels memorised'
    """
    found = [Evidence.of(run) for run in runs]
    axes, groups = style_axes(new_axes(ax)), groups_of(found)
    for group, line in zip(groups, group_lines(groups), strict=True):
        curves = [subset_curves(run)[f"{run.word} labels, memorised"] for run in group.runs]
        draw_seeds(axes, group.runs, [(range(1, len(values) + 1), values) for values in curves], line)
    words = " or ".join(dict.fromkeys(evidence.word for evidence in found))
    return finish_share_axes(axes, f"{words} labels memorised")


def plot_final_margins(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Densities of the final margins of right and wrong labels, one row per experiment, seeds combined.

    Separate densities with wrong labels on the left mean that the network did not fit the wrong labels. At
    most twenty experiments are drawn.

    Example:
        >>> from noiseproof.testing import example_record
        >>> len(plot_final_margins([example_record(), example_record(seed=1)]).get_yticks())
        2

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 3 and 9
    """
    groups = groups_of([Evidence.of(run) for run in runs])[:MAX_ROWS]
    rows = []
    for group in groups:
        margins = torch.cat([run.record.margin[-1] for run in group.runs])
        rows.append(
            make_row(margins, torch.cat([run.doubted for run in group.runs]), figure_text(group.name, 32))
        )
    axes = new_axes(ax, 6.2, 1.4 + 0.5 * len(rows))
    words = {run.word for group in groups for run in group.runs}
    draw_rows(axes, rows, span_of(rows), words.pop() if len(words) == 1 else "suspected")
    axes.set_xlabel("margin Δ after the last epoch")
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def group_lines(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Label, colour and dash of each group: one colour per loss, one dash per group of a loss."""
    specs = [group.spec for group in groups]
    lines, found = loss_lines(specs), []
    for number, (group, spec) in enumerate(zip(groups, specs, strict=True)):
        earlier = specs[:number].count(spec)
        dash = DASHES[(DASHES.index(lines[spec]["linestyle"]) + earlier) % len(DASHES)]
        look = {"color": lines[spec]["color"], "linestyle": dash, "linewidth": 1.8}
        found.append({"label": figure_text(group.name, 40), **look})
    return found


def draw_seeds(
    ax: Axes, runs: Sequence[Evidence], curves: Sequence[Curve], line: dict[str, Any], x: str = "epoch"
) -> None:
    """Draw the mean of the seeds over their common epochs, and a band of their range."""
    found = [dict(zip(*curve, strict=True)) for curve in curves]
    epochs = sorted(set.intersection(*(set(curve) for curve in found)))
    values = np.array([[curve[epoch] for epoch in epochs] for curve in found])
    positions = runs[0].along(x, epochs)
    if len(values) > 1:
        band: dict[str, Any] = {"color": line["color"], "alpha": 0.15, "linewidth": 0, "zorder": 1.5}
        ax.fill_between(positions, values.min(0), values.max(0), **band)
    ax.plot(positions, values.mean(0), **line)
