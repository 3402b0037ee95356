"""Ridges: one pair of hills per row, labels that are right and labels that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..palette import CLEAN_LINE, FAINT, SUSPECTED_LINE, WRONG_LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 120
HEIGHT = 1.3
"""Of a hill, where rows are 1 apart: they overlap a little, as ridges do."""
FLAT = 0.012
"""Below this share of its peak a hill has no outline."""
TAIL = 0.005


@dataclass(frozen=True)
class Row:
    """One row of a ridge picture; ``clean`` and ``doubted`` hold the values of either group."""

    name: str
    clean: NDArray[np.float64]
    doubted: NDArray[np.float64]


def split(values: Tensor, doubted: Tensor, name: str) -> Row:
    """A row from the values of all samples; those that are not numbers are left out."""
    numbers, mask = values.double().numpy(), doubted.numpy()
    seen = np.isfinite(numbers)
    return Row(name, numbers[seen & ~mask], numbers[seen & mask])


def span_of(rows: Sequence[Row]) -> tuple[float, float]:
    """The range that holds nearly all values of all rows."""
    groups = [group for row in rows for group in (row.clean, row.doubted) if len(group)]
    if not groups:
        return -1.0, 1.0
    lowest = min(float(np.quantile(group, TAIL)) for group in groups)
    highest = max(float(np.quantile(group, 1 - TAIL)) for group in groups)
    room = max(0.05 * (highest - lowest), 0.25)
    return lowest - room, highest + room


def hill(values: NDArray[np.float64], span: tuple[float, float]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Smoothed histogram, its peak at 1; what would run over an edge is thrown back.

    Example:
        >>> x, y = hill(np.array([0.0, 0.1, 0.2]), (-2.0, 2.0))
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


def peak(values: NDArray[np.float64], span: tuple[float, float]) -> float:
    """Highest density of the hill of these values, 0 where there are none.

    Example:
        >>> values = np.random.default_rng(0).normal(size=100_000)
        >>> abs(peak(values, (-5.0, 5.0)) - (2 * np.pi) ** -0.5) < 0.02
        True
    """
    x, y = hill(values, span)
    area = float(y.sum() * (x[1] - x[0]))
    inside = ((values >= span[0]) & (values <= span[1])).mean() if len(values) else 0.0
    return float(inside) / area if area else 0.0


def draw_rows(
    ax: Axes,
    rows: Sequence[Row],
    span: tuple[float, float],
    word: str,
    colours: tuple[str, str] | None = None,
) -> None:
    """Row k stands on height -k; the hills of later rows stand before those of earlier ones.

    ``colours`` are those of right and of doubted labels, where not the usual ones are wanted.
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
            x, y = hill(values, span)
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
