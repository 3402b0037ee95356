"""How well the suspects are the wrong labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...dynamics.statistics import final_margin, mean_margin
from ..evidence import Evidence, NothingToShow, Source
from ..palette import CLEAN, FAINT, INK, RECOVERED, WRONG, as_percent, legend, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_detection(run: Source, *, ax: Axes | None = None) -> Axes:
    """Precision and recall of the label score on the labels that are really wrong.

    The dot is what ``labels.find`` calls an issue. The thin lines are simpler scores to compare with: the
    margin of the last epoch, and its mean over all epochs. Guessing has the precision of the dashed line.

    Example:
        >>> from noiseproof.report import example_record, plot_detection
        >>> plot_detection(example_record()).get_xlabel()
        'recall: wrong labels found'

    Reference:
        Pleiss et al., Identifying Mislabeled Data using the Area Under the Margin Ranking, NeurIPS 2020
    """
    evidence = Evidence.of(run)
    flipped = evidence.record.flipped
    if flipped is None or not bool(flipped.any()):
        raise NothingToShow("no label is known to be wrong")
    score = torch.tensor(evidence.suspects["label_score"].to_numpy(dtype=float))
    scores: dict[str, tuple[Tensor, dict[str, Any]]] = {
        "label score": (score, {"color": WRONG, "linewidth": 2.2}),
        "mean margin": (mean_margin(evidence.record), {"color": CLEAN, "linestyle": "--", "linewidth": 1.2}),
        "last margin": (
            final_margin(evidence.record),
            {"color": RECOVERED, "linestyle": ":", "linewidth": 1.2},
        ),
    }
    axes = plain(new_axes(ax))
    for name, (values, line) in scores.items():
        precision, recall = precision_recall(values, flipped)
        area = average_precision(precision, recall)
        axes.plot(recall, precision, label=f"{name}, average {area:.1%}", **line)
    _mark_choice(axes, evidence, flipped)
    axes.axhline(float(flipped.float().mean()), color=FAINT, linestyle="--", linewidth=1, label="guessing")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("recall: wrong labels found")
    axes.set_ylabel("precision: suspects really wrong")
    as_percent(axes)
    as_percent(axes, axis="x")
    legend(axes)
    return axes


def precision_recall(score: Tensor, wrong: Tensor) -> tuple[Tensor, Tensor]:
    """Precision and recall of the k samples with the lowest scores, k where the score changes.

    Samples of the same score stay together; those without one come last.

    Example:
        >>> precision_recall(torch.tensor([0.1, 0.9, 0.2]), torch.tensor([True, False, True]))
        (tensor([1.0000, 1.0000, 0.6667]), tensor([0.5000, 1.0000, 1.0000]))
    """
    values, order = score.nan_to_num(torch.inf).sort(stable=True)
    last = torch.cat([values[1:] != values[:-1], torch.ones(1, dtype=torch.bool)])
    hits = wrong[order].cumsum(0)[last]
    taken = torch.arange(1, len(score) + 1)[last]
    return hits / taken, hits / int(wrong.sum())


def average_precision(precision: Tensor, recall: Tensor) -> float:
    """Mean of the precision over the recall gained."""
    gained = torch.diff(recall, prepend=torch.zeros(1))
    return float((precision * gained).sum())


def _mark_choice(ax: Axes, evidence: Evidence, flipped: Tensor) -> None:
    chosen = torch.tensor(evidence.suspects["is_label_issue"].to_numpy(dtype=bool))
    if bool(chosen.any()):
        hits = int((chosen & flipped).sum())
        place = hits / int(flipped.sum()), hits / int(chosen.sum())
        ax.plot(*place, "o", color=INK, markersize=8, zorder=9, label=f"suspects: {int(chosen.sum()):,}")
