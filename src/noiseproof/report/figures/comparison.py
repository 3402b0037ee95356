"""Several runs in one picture: how they learn, what they memorise, where their margins end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...losses.drawing import DASHES
from ..evidence import Evidence, NothingToShow, Source
from ..palette import as_percent, legend, loss_lines, new_axes, plain
from ..wording import drawn
from .hills import draw_rows, span_of, split
from .subset_accuracy import subset_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 20


def plot_test_accuracy(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Test accuracy of several runs over the epochs; every loss has its colour.

    A robust loss ends where it was best; a line that rises and falls has memorised wrong labels.
    """
    found = [Evidence.of(run) for run in runs]
    axes = plain(new_axes(ax))
    drawn_any = False
    for evidence, line in zip(found, run_lines(found), strict=True):
        try:
            axes.plot(*evidence.series("test_accuracy"), **line)
            drawn_any = True
        except NothingToShow:
            continue
    if not drawn_any:
        raise NothingToShow("test accuracy was not measured in these runs")
    return _finished(axes, "test accuracy")


def plot_memorised(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Share of wrong (or suspected) labels that each run repeats, over the epochs: the lower the better.

    Example:
        >>> from noiseproof.report import example_record, plot_memorised
        >>> plot_memorised([example_record(), example_record(seed=1)]).get_ylabel()
        'wrong labels memorised'
    """
    found = [Evidence.of(run) for run in runs]
    axes = plain(new_axes(ax))
    for evidence, line in zip(found, run_lines(found), strict=True):
        values = subset_curves(evidence)[f"{evidence.word} labels, memorised"]
        axes.plot(range(1, len(values) + 1), values, **line)
    words = " or ".join(dict.fromkeys(evidence.word for evidence in found))
    return _finished(axes, f"{words} labels memorised")


def plot_final_margins(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Margins of right and wrong labels at the end of each run, one row per run.

    Two hills apart, the wrong labels on the left: the network learned without believing them. Of very many
    runs the first twenty are drawn.

    Example:
        >>> from noiseproof.report import example_record, plot_final_margins
        >>> len(plot_final_margins([example_record(), example_record(seed=1)]).get_yticks())
        2

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 3 and 9
    """
    found = [Evidence.of(run) for run in runs[:MOST_ROWS]]
    names = [line["label"] for line in run_lines(found)]
    pairs = zip(found, names, strict=True)
    rows = [split(evidence.record.margin[-1], evidence.doubted, name) for evidence, name in pairs]
    axes = new_axes(ax, 7.2, 1.4 + 0.62 * len(rows))
    draw_rows(axes, rows, span_of(rows), found[0].word if len({e.word for e in found}) == 1 else "suspected")
    axes.set_xlabel("margin Δ after the last epoch")
    axes.spines[["top", "right", "left"]].set_visible(False)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return axes


def run_lines(runs: Sequence[Evidence]) -> list[dict[str, Any]]:
    """Label, colour and dash of each run: one colour per loss, another dash for each further run of it."""
    specs = [str(run.settings.get("method") or run.settings.get("loss") or run.name) for run in runs]
    lines = loss_lines(specs)
    found = []
    for number, (run, spec) in enumerate(zip(runs, specs, strict=True)):
        earlier = specs[:number].count(spec)
        name = spec if specs.count(spec) == 1 else f"{spec} ({run.name})"
        dash = DASHES[(DASHES.index(lines[spec]["linestyle"]) + earlier) % len(DASHES)]
        found.append(
            {"label": drawn(name, 40), "color": lines[spec]["color"], "linestyle": dash, "linewidth": 1.8}
        )
    return found


def _finished(ax: Axes, label: str) -> Axes:
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("epoch")
    ax.set_ylabel(label)
    as_percent(ax)
    legend(ax)
    return ax
