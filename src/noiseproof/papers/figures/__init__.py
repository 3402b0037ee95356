"""All figures by name, drawn from formulas or from runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ...grammar import unknown
from ...report.evidence import Source
from ...report.text import NONE
from ..plan import HOME
from ..table_builder import read
from .curve_figures import CURVE_FIGURES, draw_panels
from .run_figures import RUN_FIGURES, WHOLE_FIGURES


def _order(name: str) -> tuple[str, int, str]:
    """
    >>> sorted(["gr.figure10", "gr.figure2", "gr.figure1b"], key=_order)
    ['gr.figure1b', 'gr.figure2', 'gr.figure10']
    """
    paper, _, number = name.partition(".figure")
    digits = number.rstrip("abc")
    return paper, int(digits), number[len(digits) :]


NOT_DRAWN: dict[str, str] = read("figures")["not drawn"]
_TITLES = NOT_DRAWN | {
    name: figure.title
    for group in (CURVE_FIGURES, RUN_FIGURES, WHOLE_FIGURES)
    for name, figure in group.items()
}
FIGURES: dict[str, str] = {name: _TITLES[name] for name in sorted(_TITLES, key=_order)}
"""Name -> title."""


def figure_source(name: str) -> str:
    """What a figure is drawn from: "formula", "runs", or a dash if it is not drawn."""
    if name in NOT_DRAWN:
        return NONE
    return "formula" if name in CURVE_FIGURES else "runs"


def draw(name: str, runs: Sequence[Source] = (), *, out: str | Path | None = None) -> Figure:
    """Draw one figure by name.

    Args:
        runs: folders of runs, for a figure that plots runs.
        out: the folder in which ``papers.run`` trained the runs of the figure, used without ``runs``.

    Example:
        >>> draw("gr.figure1a").axes[0].get_xlabel()
        'probability of the label, p'
        >>> draw("sl.figure1", out="nowhere")
        Traceback (most recent call last):
        ValueError: runs of this figure are not in nowhere; to train them: noiseproof papers run ...
    """
    if name not in FIGURES:
        raise ValueError(unknown("figure", name, FIGURES))
    if name in NOT_DRAWN:
        raise ValueError(f"{name} is not drawn. {NOT_DRAWN[name]}")
    if name in CURVE_FIGURES:
        if runs:
            raise ValueError(f"{name} is drawn from a formula and takes no runs")
        return draw_panels(CURVE_FIGURES[name])
    home = HOME if out is None else Path(out).expanduser()
    if name in RUN_FIGURES:
        wanted = RUN_FIGURES[name]
        return wanted.draw(runs or wanted.runs(home))
    whole = WHOLE_FIGURES[name]
    if runs:
        parts = " or ".join(whole.parts)
        raise ValueError(f"the parts of {name} show different runs: with runs given, draw {parts}")
    return whole.draw(whole.runs(home))
