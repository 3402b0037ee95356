"""Noise attention: how much the network trusts labels that are right and labels that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evidence import Evidence, NothingToShow, Source
from ..palette import legend, new_axes
from .hills import draw_rows, split
from .margin_ridges import chosen_epochs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tau(run: Source, *, ax: Axes | None = None, rows: int = 3, stage: int | None = None) -> Axes:
    """Hills of NAL's attention at the beginning, in between, and at the end.

    Near 1 a label is believed, near 0 it is not. The two hills should part.

    Args:
        run: a run, its folder, or a Record.
        rows: how many epochs, from the first to the last.
        stage: only that one of the rows, counted from 1; of a shorter run, its last.

    Example:
        >>> from noiseproof.report import example_record, plot_tau
        >>> plot_tau(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: tau was not recorded: only the method nal has it

    Reference:
        Noise Attention Learning, Fig. 11 to 13
    """
    evidence = Evidence.of(run)
    tau = evidence.record.extra.get("tau")
    if tau is None:
        raise NothingToShow("tau was not recorded: only the method nal has it")
    epochs = chosen_epochs(len(tau), rows)
    if stage is not None:
        epochs = epochs[:stage][-1:]
    ridges = [split(tau[epoch], evidence.doubted, f"epoch {epoch + 1}") for epoch in epochs]
    axes = new_axes(ax, 5.6, 1.5 + 0.8 * len(ridges))
    draw_rows(axes, ridges, (0.0, 1.0), evidence.word)
    axes.set_xlabel("attention τ")
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes
