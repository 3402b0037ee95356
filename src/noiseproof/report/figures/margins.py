"""Ridge plots of margins and of NAL's attention, and the share of the gradient on wrong labels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from numpy.typing import NDArray
from torch import Tensor

from ...losses import MarginLoss
from ..evidence import Evidence, NotAvailableError, Source
from ..palette import (
    CLEAN_LINE,
    FAINT,
    INK,
    SUSPECTED_LINE,
    WRONG_LINE,
    finish_share_axes,
    legend,
    new_axes,
    style_axes,
)
from ..text import figure_text, percent

BINS = 120
HEIGHT = 1.3
"""Height of a density; rows are 1 apart, so that they overlap slightly."""
FLAT = 0.012
"""A density has no outline below this share of its peak."""
TAIL = 0.005


@dataclass(frozen=True)
class Row:
    """One row of a ridge plot, with the values of right (``clean``) and ``doubted`` labels."""

    name: str
    clean: NDArray[np.float64]
    doubted: NDArray[np.float64]


def make_row(values: Tensor, doubted: Tensor, name: str) -> Row:
    """A row from the values of all samples; values that are not finite are left out."""
    numbers, mask = values.double().numpy(), doubted.numpy()
    seen = np.isfinite(numbers)
    return Row(name, numbers[seen & ~mask], numbers[seen & mask])


def span_of(rows: Sequence[Row]) -> tuple[float, float]:
    """A range that contains nearly all values of all rows."""
    groups = [group for row in rows for group in (row.clean, row.doubted) if len(group)]
    if not groups:
        return -1.0, 1.0
    lowest = min(float(np.quantile(group, TAIL)) for group in groups)
    highest = max(float(np.quantile(group, 1 - TAIL)) for group in groups)
    padding = max(0.05 * (highest - lowest), 0.25)
    return lowest - padding, highest + padding


def density(values: NDArray[np.float64], span: tuple[float, float]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smoothed histogram, scaled to a peak of 1, with reflection at the edges.

    Example:
        >>> x, y = density(np.array([0.0, 0.1, 0.2]), (-2.0, 2.0))
        >>> float(y.max()), bool(abs(x[y.argmax()] - 0.1) < 0.05)
        (1.0, True)
    """
    counts, edges = np.histogram(values, BINS, range=span)
    middle = (edges[:-1] + edges[1:]) / 2
    if not counts.any():
        return middle, np.zeros(BINS)
    reach = BINS // 4
    steps = np.arange(-reach, reach + 1)
    width = max(2.0, 0.06 * BINS * len(values) ** -0.2 * 2)
    kernel = np.exp(-0.5 * (steps / width) ** 2)
    smooth = np.convolve(np.pad(counts, reach, mode="symmetric"), kernel, mode="valid")
    return middle, smooth / smooth.max()


def draw_rows(
    ax: Axes,
    rows: Sequence[Row],
    span: tuple[float, float],
    word: str,
    colours: tuple[str, str] | None = None,
) -> None:
    """Draw row k at height -k, in front of the rows before it.

    ``colours`` are those of right and of doubted labels, if not the default ones.
    """
    clean, other = CLEAN_LINE, WRONG_LINE if word == "wrong" else SUSPECTED_LINE
    if colours is not None:
        clean, other = clean | {"color": colours[0]}, other | {"color": colours[1]}
    for number, row in enumerate(rows):
        layer = 2 + number
        for values, line, name in (
            (row.clean, clean, _clean_name(word)),
            (row.doubted, other, f"{word} labels"),
        ):
            x, y = density(values, span)
            top = np.where(y > FLAT, HEIGHT * y, np.nan) - number
            ax.fill_between(
                x, -number, HEIGHT * y - number, color=line["color"], alpha=0.38, linewidth=0, zorder=layer
            )
            label = name if len(values) and name not in ax.get_legend_handles_labels()[1] else None
            ax.plot(x, top, **(line | {"linewidth": 1.3}), zorder=layer + 0.5, label=label)
        ax.plot(span, (-number, -number), color=FAINT, linewidth=0.6, zorder=layer)
    ax.set_xlim(span)
    ax.set_yticks([-float(number) for number in range(len(rows))], [row.name for row in rows])
    ax.tick_params(axis="y", length=0)


def _clean_name(word: str) -> str:
    return "right labels" if word == "wrong" else "other labels"


CURVE = HEIGHT + 0.25
"""Height of the base line of the emphasis curve, above the first row."""
BOTTOM = 0.75
"""Reduction of the space below the last row."""


def plot_margin_ridges(
    run: Source,
    *,
    ax: Axes | None = None,
    loss: MarginLoss | str | None = None,
    rows: int = 6,
    colours: tuple[str, str] | None = None,
) -> Axes:
    r"""Densities of the margins of right and wrong labels over the epochs, and the emphasis of the loss.

    Each row shows the densities of :math:`\Delta = z_y - \log\sum_{j\ne y} e^{z_j}` in one epoch, scaled to
    their peaks. The curve at the top and the grey area show the emphasis :math:`-d\ell/d\Delta`: samples in
    the grey area get gradient. The column on the right is the share of the emphasis on wrong labels.

    Args:
        run: a run, its folder, or a Record.
        loss: the loss, if the run does not have one.
        rows: number of epochs to draw, from the first to the last.
        colours: of right and of wrong labels, if not the default ones.

    Example:
        >>> from noiseproof.testing import example_record
        >>> ax = plot_margin_ridges(example_record(), loss="ce")
        >>> ax.get_xlabel()
        'margin Δ'

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 3
    """
    evidence = Evidence.of(run, loss=loss)
    record, doubted = evidence.record, evidence.doubted
    epochs = chosen_epochs(record.epochs, rows)
    ridges = [make_row(record.margin[epoch], doubted, str(epoch + 1)) for epoch in epochs]
    span = span_of(ridges)
    axes = new_axes(ax, 6.2, (1.7 if evidence.loss else 1.1) + 0.55 * len(ridges))
    _draw_curve(axes, evidence, span, len(ridges))
    draw_rows(axes, ridges, span, evidence.word, colours)
    _write_shares(axes, evidence, epochs)
    axes.set_ylim(BOTTOM - len(ridges), CURVE + (1.25 if evidence.loss else 0.1))
    axes.set_xlabel("margin Δ")
    axes.set_ylabel("epoch", y=0.5 * len(ridges) / (len(ridges) + CURVE + 0.5))
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes


def chosen_epochs(epochs: int, rows: int) -> list[int]:
    """Epochs counted from 0, spaced geometrically.

    Example:
        >>> chosen_epochs(100, 6), chosen_epochs(3, 6)
        ([0, 2, 5, 15, 39, 99], [0, 1, 2])
    """
    if epochs <= rows:
        return list(range(epochs))
    wanted = np.geomspace(1, epochs, rows).round().astype(int)
    for number in range(1, rows):
        wanted[number] = max(wanted[number], wanted[number - 1] + 1)
    return [int(epoch) - 1 for epoch in wanted]


def _draw_curve(ax: Axes, evidence: Evidence, span: tuple[float, float], rows: int) -> None:
    """Draw the emphasis curve, and a grey area behind all rows."""
    if evidence.loss is None:
        return
    margin = torch.linspace(*span, 400, dtype=torch.float64)
    emphasis = evidence.loss.evaluate(margin, num_classes=evidence.record.num_classes)[1].numpy()
    share = emphasis / emphasis.max() if emphasis.max() > 0 else emphasis
    light = np.zeros((1, len(share), 4))
    light[..., :3], light[..., 3] = 0.5, 0.30 * share
    ax.imshow(light, extent=(*span, BOTTOM - rows, CURVE), aspect="auto", zorder=0, interpolation="bilinear")
    ax.fill_between(margin, CURVE, CURVE + share, color=FAINT, alpha=0.30, linewidth=0, zorder=1)
    name = f"emphasis of {figure_text(evidence.loss_name, 32)}"
    ax.plot(margin, CURVE + share, color=INK, linewidth=2.0, zorder=30, label=name)


def _write_shares(ax: Axes, evidence: Evidence, epochs: list[int]) -> None:
    """Write the share of the gradient on doubted labels next to each row."""
    with suppress(NotAvailableError):
        shares = [percent(emphasis_share(evidence, epoch), 0) for epoch in epochs]
        look: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "fontsize": "small", "va": "bottom"}
        ax.text(1.01, CURVE, f"gradient on\n{evidence.word} labels", color=FAINT, **look)
        for number, share in enumerate(shares):
            ax.text(1.01, 0.06 - number, share, **look)


def emphasis_share(evidence: Evidence, epoch: int) -> float | None:
    """Share of the emphasis of an epoch (counted from 0) on doubted labels; None if all emphasis is 0."""
    emphasis = evidence.emphasis(epoch).double().nan_to_num(0.0)
    total = float(emphasis.sum())
    return float(emphasis[evidence.doubted].sum()) / total if total > 0 else None


def plot_tau(run: Source, *, ax: Axes | None = None, rows: int = 3, stage: int | None = None) -> Axes:
    """Densities of NAL's attention τ for right and wrong labels at several epochs.

    A label with τ near 1 is trusted, near 0 it is not. The two densities should separate.

    Args:
        run: a run, its folder, or a Record.
        rows: number of epochs to draw, from the first to the last.
        stage: draw only this row, counted from 1, or the last row if there are fewer.

    Reference:
        Noise Attention Learning, Fig. 11 to 13
    """
    evidence = Evidence.of(run)
    tau = evidence.record.extra.get("tau")
    if tau is None:
        raise NotAvailableError("tau was not recorded: only the method nal records it")
    epochs = chosen_epochs(len(tau), rows)
    if stage is not None:
        epochs = epochs[:stage][-1:]
    ridges = [make_row(tau[epoch], evidence.doubted, f"epoch {epoch + 1}") for epoch in epochs]
    axes = new_axes(ax, 5.6, 1.5 + 0.8 * len(ridges))
    draw_rows(axes, ridges, (0.0, 1.0), evidence.word)
    axes.set_xlabel("attention τ")
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def plot_emphasis_share(run: Source, *, ax: Axes | None = None, loss: MarginLoss | str | None = None) -> Axes:
    r"""Share of the emphasis on samples with wrong labels, by epoch.

    .. math:: \frac{\sum_{i\,\text{wrong}} \mathrm{emphasis}(\Delta_i)}{\sum_i \mathrm{emphasis}(\Delta_i)}

    The dashed line is their share of the samples, the emphasis under equal weights. Values should be below.

    Example:
        >>> from noiseproof.testing import example_record
        >>> plot_emphasis_share(example_record(), loss="mae").get_xlabel()
        'epoch'

    Reference:
        A Curriculum View of Robust Loss Functions, section 3
    """
    evidence = Evidence.of(run, loss=loss)
    epochs = evidence.record.epochs
    found = [(epoch + 1, emphasis_share(evidence, epoch)) for epoch in range(epochs)]
    kept = [(epoch, share) for epoch, share in found if share is not None]
    axes = style_axes(new_axes(ax))
    line = WRONG_LINE if evidence.is_known else SUSPECTED_LINE
    x, y = [epoch for epoch, _ in kept], [share for _, share in kept]
    axes.plot(x, y, **(line | {"linestyle": "-"}), label=f"gradient on {evidence.word} labels")
    axes.fill_between(x, 0, y, color=line["color"], alpha=0.15, linewidth=0)
    rate = float(evidence.doubted.float().mean())
    axes.axhline(rate, color=FAINT, linestyle="--", label=f"their share of the samples, {percent(rate)}")
    return finish_share_axes(axes, "share of the gradient")
