"""Who gets the gradient: margins epoch by epoch, below the emphasis curve of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ...losses import MarginLoss
from ..evidence import Evidence, NothingToShow, Source
from ..palette import FAINT, INK, legend, new_axes
from ..wording import drawn, percent
from .hills import HEIGHT, Row, draw_rows, peak, span_of, split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE = HEIGHT + 0.25
"""Height on which the emphasis curve stands, above the first row."""
BOTTOM = 0.75
"""Room below the last row: this much less than a whole one."""


def plot_margin_ridges(
    run: Source,
    *,
    ax: Axes | None = None,
    loss: MarginLoss | str | None = None,
    rows: int = 6,
    colours: tuple[str, str] | None = None,
    scales: bool = False,
) -> Axes:
    r"""Margins of right and wrong labels over the epochs, under the emphasis curve of the loss.

    Each hill is the density of :math:`\Delta = z_y - \log\sum_{j\ne y} e^{z_j}` in one epoch, scaled to its
    peak; epochs run from top to bottom. The grey curve on top, and the grey light that falls from it, is the
    emphasis :math:`-d\ell/d\Delta`: a hill that stands in the light is being learned. The column on the right
    is the share of all emphasis that went to wrong labels in that epoch.

    Args:
        run: a run, its folder, or a Record.
        loss: where the run does not say it.
        rows: how many epochs, from the first to the last.
        colours: of right and of wrong labels, where not the usual ones are wanted.
        scales: in the column on the right, the density at the peak of either hill instead.

    Example:
        >>> from noiseproof.report import example_record, plot_margin_ridges
        >>> ax = plot_margin_ridges(example_record(), loss="ce")
        >>> ax.get_xlabel()
        'margin Δ'

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 3
    """
    evidence = Evidence.of(run, loss=loss)
    record, doubted = evidence.record, evidence.doubted
    epochs = chosen_epochs(record.epochs, rows)
    ridges = [split(record.margin[epoch], doubted, str(epoch + 1)) for epoch in epochs]
    span = span_of(ridges)
    axes = new_axes(ax, 6.2, (1.7 if evidence.loss else 1.1) + 0.55 * len(ridges))
    _draw_curve(axes, evidence, span, len(ridges))
    draw_rows(axes, ridges, span, evidence.word, colours)
    if scales:
        _write_scales(axes, ridges, span, evidence.word)
    else:
        _write_shares(axes, evidence, epochs)
    axes.set_ylim(BOTTOM - len(ridges), CURVE + (1.25 if evidence.loss else 0.1))
    axes.set_xlabel("margin Δ")
    axes.set_ylabel("epoch", y=0.5 * len(ridges) / (len(ridges) + CURVE + 0.5))
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes


def chosen_epochs(epochs: int, rows: int) -> list[int]:
    """Epochs counted from 0, dense at the beginning where most happens.

    Example:
        >>> chosen_epochs(100, 6), chosen_epochs(3, 6)
        ([0, 2, 5, 15, 39, 99], [0, 1, 2])
    """
    if epochs <= rows:
        return list(range(epochs))
    wanted = np.geomspace(1, epochs, rows).round().astype(int)
    for place in range(1, rows):
        wanted[place] = max(wanted[place], wanted[place - 1] + 1)
    return [int(epoch) - 1 for epoch in wanted]


def _draw_curve(ax: Axes, evidence: Evidence, span: tuple[float, float], rows: int) -> None:
    """The curve on its own line, and its light on all rows."""
    if evidence.loss is None:
        return
    margin = torch.linspace(*span, 400, dtype=torch.float64)
    emphasis = evidence.loss.evaluate(margin, num_classes=evidence.record.num_classes)[1].numpy()
    share = emphasis / emphasis.max() if emphasis.max() > 0 else emphasis
    light = np.zeros((1, len(share), 4))
    light[..., :3], light[..., 3] = 0.5, 0.30 * share
    ax.imshow(light, extent=(*span, BOTTOM - rows, CURVE), aspect="auto", zorder=0, interpolation="bilinear")
    ax.fill_between(margin, CURVE, CURVE + share, color=FAINT, alpha=0.30, linewidth=0, zorder=1)
    name = f"emphasis of {drawn(evidence.loss_name, 32)}"
    ax.plot(margin, CURVE + share, color=INK, linewidth=2.0, zorder=30, label=name)


def _write_shares(ax: Axes, evidence: Evidence, epochs: list[int]) -> None:
    """Beside each row, who got the gradient."""
    try:
        shares = [emphasis_share(evidence, epoch) for epoch in epochs]
    except NothingToShow:
        return
    place = ax.get_yaxis_transform()
    head = f"gradient on\n{evidence.word} labels"
    ax.text(1.01, CURVE, head, transform=place, fontsize="small", va="bottom", color=FAINT)
    for number, share in enumerate(shares):
        ax.text(1.01, 0.06 - number, percent(share, 0), transform=place, fontsize="small", va="bottom")


def _write_scales(ax: Axes, ridges: list[Row], span: tuple[float, float], word: str) -> None:
    """Beside each row, the density that its two hills have at their peaks."""
    place = ax.get_yaxis_transform()
    head = f"peak density:\n{word} | {'right' if word == 'wrong' else 'other'}"
    ax.text(1.01, CURVE, head, transform=place, fontsize="small", va="bottom", color=FAINT)
    for number, row in enumerate(ridges):
        told = " | ".join(f"{peak(values, span):#.2g}" for values in (row.doubted, row.clean))
        ax.text(1.01, 0.06 - number, told, transform=place, fontsize="small", va="bottom")


def emphasis_share(evidence: Evidence, epoch: int) -> float | None:
    """Share of the emphasis of an epoch (counted from 0) that doubted labels got; None if nobody got any."""
    emphasis = evidence.emphasis(epoch).double().nan_to_num(0.0)
    total = float(emphasis.sum())
    return float(emphasis[evidence.doubted].sum()) / total if total > 0 else None
