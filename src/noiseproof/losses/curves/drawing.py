"""Plots of emphasis curves, in colours and dashes that are colour-blind safe and readable in print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from ..checks import choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (3, 1)), (0, (1, 1)))
MARGINS = (-10.0, 10.0)
MAX_DRAWS = 200_000_000
LABELS = {"p": "probability of the label, p", "margin": "margin Δ"}


class Drawable(Protocol):
    """A curve, see :class:`noiseproof.losses.Curve`."""

    @property
    def loss(self) -> object: ...

    @property
    def peak(self) -> float: ...

    def emphasis(self, margin: Tensor) -> Tensor: ...


def plot_curve(
    curve: Drawable,
    *,
    ax: Axes | None = None,
    x: str = "p",
    number: int = 0,
    factor: float = 1.0,
    **line: Any,
) -> Axes:
    """Plot one emphasis curve; ``number`` selects colour and dash, ``factor`` 2 draws the L1 weight."""
    axes = _axes(ax)
    horizontal, margin = grid(choice("plot", "x", x, LABELS))
    style: dict[str, Any] = {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "label": short(str(curve.loss)),
        "linewidth": 1.8,
    }
    axes.plot(horizontal, factor * curve.emphasis(margin), **(style | line))
    axes.set_xlabel(LABELS[x])
    axes.set_ylabel("emphasis" if factor == 1 else "weight (L1 norm of the gradient)")
    axes.autoscale(axis="y")
    axes.set_ylim(bottom=0)
    return axes


def plot_curves(
    curves: Sequence[Drawable],
    *,
    ax: Axes | None = None,
    x: str = "p",
    unit: bool = False,
    factor: float = 1.0,
) -> Axes:
    """Plot several curves; with ``unit`` each is divided by its peak."""
    axes = _axes(ax)
    for number, curve in enumerate(curves):
        plot_curve(curve, ax=axes, x=x, number=number, factor=1 / curve.peak if unit else factor)
    if unit:
        axes.set_ylabel("emphasis / its maximum")
    axes.legend(frameon=False, fontsize="small", handlelength=3)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def plot_initial_margins(
    num_classes: int,
    *,
    ax: Axes,
    x: str = "margin",
    number: int = 0,
    measured: tuple[Tensor, str] | None = None,
) -> Axes:
    """Plot the distribution of margins of an untrained network behind the curves.

    Args:
        measured: margins of a network and a description of them; by default margins of logits iid N(0, 1).
    """
    choice("plot", "x", x, LABELS)
    margin, description = measured or (simulate_initial_margins(num_classes), "simulated N(0, 1) logits")
    values = margin if x == "margin" else torch.sigmoid(margin)
    lowest = min(MARGINS[0], float(margin.min()))
    span = (lowest, MARGINS[1]) if x == "margin" else (0.0, 1.0)
    counts, edges = torch.histogram(values, 80, range=span)
    height = counts / counts.max() * ax.get_ylim()[1] * 0.9
    grey = ("0.80", "0.88", "0.93")[number % 3]
    label = f"start, {num_classes} classes,\n{description}"
    ax.fill_between(edges[:-1], height, step="post", color=grey, alpha=0.8, zorder=0, label=label)
    ax.legend(frameon=False, fontsize="small", handlelength=3)
    return ax


def simulate_initial_margins(num_classes: int, samples: int = 20000) -> Tensor:
    """Margins of a random class when all logits are N(0, 1), drawn with a fixed seed."""
    generator = torch.Generator().manual_seed(0)
    samples = min(samples, max(500, MAX_DRAWS // num_classes))
    rows = max(1, 1_000_000 // num_classes)
    blocks = []
    for start in range(0, samples, rows):
        logits = torch.randn(min(rows, samples - start), num_classes, generator=generator)
        blocks.append(logits[:, 0] - torch.logsumexp(logits[:, 1:], 1))
    return torch.cat(blocks)


def grid(x: str) -> tuple[Tensor, Tensor]:
    """Points of the horizontal axis and their margins."""
    if x == "margin":
        margin = torch.linspace(*MARGINS, 801, dtype=torch.float64, device="cpu")
        return margin, margin
    p = torch.linspace(0.0, 1.0, 801, dtype=torch.float64, device="cpu").clamp(1e-7, 1 - 1e-7)
    return p, torch.logit(p)


def short(spec: str) -> str:
    """A spec for a legend, without settings that all curves share."""
    for common in (', g="exp"', ", saturation=17.33", ', normalize="batch"'):
        spec = spec.replace(common, "")
    return spec


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1]
