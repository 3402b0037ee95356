"""Figures of the papers that need no training: emphasis curves and initial margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from ...losses import curve
from ...losses.curves.drawing import (
    COLOURS,
    DASHES,
    grid,
    plot_curves,
    plot_initial_margins,
    simulate_initial_margins,
)
from .analytic import untrained_margins

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LONG_LEGEND = 6
"""So many names need room above the curves."""


@dataclass(frozen=True)
class CurveFigure:
    """What one figure shows: one list of specs per panel."""

    title: str
    panels: dict[str, list[str]]
    x: str = "p"
    kind: str = "emphasis"
    """"emphasis", "weight" (L1 norm, twice that), "unit" (divided by its peak), "value" or "start"."""
    classes: tuple[int, ...] = field(default=())
    """Initial margins drawn behind; the first settles scale and shift."""


def draw_panels(wanted: CurveFigure) -> Figure:
    """The figure, its panels in as many columns as fit a page."""
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


def _gr(*settings: tuple[float, float]) -> list[str]:
    return [f"gr(beta={beta}, lam={lam})" for beta, lam in settings]


TABLE8 = ["ce", "sce(q=0.7)", "gce(q=0.3)", "aul(a=1.1, q=5)", "agce(a=0.1, q=0.1)", "mae"]
TABLE8_INFERIOR = ["aul(a=3, q=0.7)", "agce(a=1.6, q=2)"]
TABLE12 = ["ce", "sce(q=0.95)", "gce(q=0.4)", "aul(a=2, q=2)", "mae", "agce(a=3, q=4)"]

_GR1 = {
    "a": ["ce", "mae", "gce(q=0.7)", *_gr((2, 0), (8, 0.5), (12, 1))],
    "λ = 0.5": _gr((4, 0.5), (8, 0.5), (12, 0.5), (16, 0.5)),
    "λ = 2": _gr((12, 2), (16, 2), (20, 2), (24, 2)),
    "c": _gr((8, 0.4), (8, 0.5), (8, 1), (8, 2), (8, 4)),
}
CURVE_FIGURES: dict[str, CurveFigure] = {
    "gr.figure1": CurveFigure(
        "GR Figure 1: focus and spread of the weight",
        {
            "a: GR, CCE, MAE, GCE": _GR1["a"],
            "b: λ = 0.5, many spreads": _GR1["λ = 0.5"],
            "b: λ = 2, many spreads": _GR1["λ = 2"],
            "c: β = 8, the focus moves with λ": _GR1["c"],
        },
        kind="weight",
    ),
    "gr.figure1a": CurveFigure(
        "GR Figure 1a: GR, CCE, MAE, GCE",
        {"": _GR1["a"]},
        kind="weight",
    ),
    "gr.figure1b": CurveFigure(
        "GR Figure 1b: one focus, many spreads",
        {words: _GR1[words] for words in ("λ = 0.5", "λ = 2")},
        kind="weight",
    ),
    "gr.figure1c": CurveFigure(
        "GR Figure 1c: β = 8, the focus moves with λ",
        {"": _GR1["c"]},
        kind="weight",
    ),
    "imae.figure1": CurveFigure(
        "IMAE Figure 1: CCE, MAE and IMAE", {"": ["ce", "mae", "imae(T=8)"]}, kind="weight"
    ),
    "imae.figure3": CurveFigure(
        "IMAE Figure 3: the loss as the area from p to 1, cut at the saturation (uncut it diverges)",
        {"": ["ce", "mae", "imae(T=2)", "imae(T=4)", "imae(T=8)"]},
        kind="value",
    ),
    "imae.figure5": CurveFigure(
        "IMAE Figure 5: T sets the spread",
        {"": [f"imae(T={T})" for T in (0, 0.5, 1, 2, 4, 8)]},
        kind="weight",
    ),
    "curriculum.figure2": CurveFigure(
        "Curriculum Figure 2: losses of Table 2, at their maximum 1",
        {"tuned": TABLE8, "inferior settings": [*TABLE8_INFERIOR, "mae"]},
        x="margin",
        kind="unit",
        classes=(100, 10),
    ),
    "curriculum.figure5": CurveFigure(
        "Curriculum Figure 5: what the hyper-parameters do",
        {
            "GCE": [f"gce(q={q})" for q in (0.1, 0.3, 0.5, 0.7, 1)],
            "SCE": [f"sce(q={q})" for q in (0.1, 0.5, 0.7, 0.95, 1)],
            "AUL": ["aul(a=1.1, q=5)", "aul(a=2, q=2)", "aul(a=3, q=0.7)", "aul(a=1.5, q=0.9)"],
            "AGCE": ["agce(a=0.1, q=0.1)", "agce(a=0.6, q=0.6)", "agce(a=1.6, q=2)", "agce(a=1, q=1.5)"],
            "AEL": [f"ael(q={q})" for q in (0.2, 0.5, 1, 2.5)],
            "TCE": [f"tce(order={n})" for n in (1, 2, 4, 10, 50)],
            "focal": [f"focal(gamma={g})" for g in (0, 0.5, 1, 2, 4)],
            "CE and MAE": ["ce", "mae"],
        },
        x="margin",
        classes=(100,),
    ),
    "curriculum.figure6": CurveFigure(
        "Curriculum Figure 6: margins before training, simulated with logits N(0, 1) and of a network",
        {"": []},
        x="margin",
        kind="start",
        classes=(10, 100, 1000),
    ),
    "curriculum.figure7": CurveFigure(
        "Curriculum Figure 7: MAE as it is, shifted and scaled, 100 classes",
        {"": ["mae", "shift(mae, tau=2.6018)", "scale(mae, tau=2.6018)"]},
        x="margin",
        kind="unit",
        classes=(100, 10),
    ),
    "curriculum.figure8": CurveFigure(
        "Curriculum Figure 8: losses of Table 5, at their maximum 1",
        {"": TABLE12},
        x="margin",
        kind="unit",
        classes=(10,),
    ),
}


def draw(name: str) -> Figure:
    """Draw one figure by name."""
    if name not in CURVE_FIGURES:
        raise ValueError(f"unknown figure {name!r} (known: {', '.join(CURVE_FIGURES)})")
    return draw_panels(CURVE_FIGURES[name])
