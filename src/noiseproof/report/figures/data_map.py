"""The data map: how sure the network was of each label over training, and how steadily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...dynamics.statistics import confidence, variability
from ..evidence import Evidence, Source
from ..palette import CLEAN, FAINT, SUSPECTED, WRONG, as_percent, legend, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 4000
"""Points of either kind."""
REGIONS = ((0.94, "believed from early on"), (0.06, "never believed"))


def plot_data_map(run: Source, *, ax: Axes | None = None) -> Axes:
    r"""Confidence against variability: mean and deviation over epochs of :math:`p_y = \sigma(\Delta)`.

    Labels the network finds easy lie at the top left, those it never believes at the bottom left: wrong
    labels gather there. On the right are those it changed its mind about. Of many samples a fixed random part
    is drawn.

    Example:
        >>> from noiseproof.report import example_record, plot_data_map
        >>> plot_data_map(example_record()).get_ylabel()
        'confidence: mean of p'

    Reference:
        Swayamdipta et al., Dataset Cartography, EMNLP 2020
    """
    evidence = Evidence.of(run)
    height, width = confidence(evidence.record), variability(evidence.record)
    axes = plain(new_axes(ax, 5.6, 4.0))
    right = "right" if evidence.is_known else "other"
    doubted = WRONG if evidence.is_known else SUSPECTED
    groups = ((~evidence.doubted, CLEAN, "o", right), (evidence.doubted, doubted, "^", evidence.word))
    for mask, colour, marker, word in groups:
        part = some_of(mask & height.isfinite(), MOST)
        axes.scatter(
            width[part].numpy(),
            height[part].numpy(),
            s=9,
            color=colour,
            alpha=0.7,
            marker=marker,
            linewidths=0,
            label=f"{word} labels",
            rasterized=True,
        )
    for place, words in REGIONS:
        look: dict[str, Any] = {"color": FAINT, "fontstyle": "italic", "ha": "right", "va": "center"}
        axes.text(0.985, place, words, transform=axes.transAxes, **look)
    axes.set_xlim(-0.01, 0.51)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("variability: standard deviation of p")
    axes.set_ylabel("confidence: mean of p")
    as_percent(axes)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, markerscale=2)
    return axes


def some_of(mask: Tensor, most: int) -> Tensor:
    """Positions in the mask, at most so many, always the same ones."""
    positions = mask.nonzero().squeeze(1)
    if len(positions) <= most:
        return positions
    order = torch.randperm(len(positions), generator=torch.Generator().manual_seed(0))
    return positions[order[:most]]
