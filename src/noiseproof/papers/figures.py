"""Every figure by name, drawn from formulas or from runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..grammar import unknown
from ..report.evidence import Source
from .curve_figures import CURVE_FIGURES
from .curve_figures import draw as draw_curves
from .run_figures import RUN_FIGURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _order(name: str) -> tuple[str, int, str]:
    """
    >>> sorted(["gr.figure10", "gr.figure2", "gr.figure1b"], key=_order)
    ['gr.figure1b', 'gr.figure2', 'gr.figure10']
    """
    paper, _, number = name.partition(".figure")
    digits = number.rstrip("abc")
    return paper, int(digits), number[len(digits) :]


_TITLES = {name: found.title for name, found in CURVE_FIGURES.items()}
_TITLES |= {name: found.title for name, found in RUN_FIGURES.items()}
FIGURES: dict[str, str] = {name: _TITLES[name] for name in sorted(_TITLES, key=_order)}
"""Name to title."""


def draw(name: str, runs: Sequence[Source] = (), *, out: str | Path | None = None) -> Figure:
    """Draw one figure by name.

    Args:
        runs: folders of runs, for a figure that plots runs.
        out: without ``runs``, the folder in which ``papers.run`` trained those the paper draws.

    Example:
        >>> draw("gr.figure1a").axes[0].get_xlabel()
        'probability of the label, p'
        >>> draw("sl.figure1", out="nowhere")
        Traceback (most recent call last):
        ValueError: runs of this figure are not in nowhere; to train them: noiseproof papers run ...
    """
    if name in CURVE_FIGURES:
        if runs:
            raise ValueError(f"{name} is drawn from a formula and takes no runs")
        return draw_curves(name)
    if name not in RUN_FIGURES:
        raise ValueError(unknown("figure", name, FIGURES))
    wanted = RUN_FIGURES[name]
    return wanted.draw(runs or wanted.runs(Path("runs/papers" if out is None else out).expanduser()))
