"""How often each class is predicted, and how often rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..evidence import Evidence, Source
from ..palette import CLEAN, INK, PAPER, WRONG, legend, name_bars, new_axes, plain
from ..wording import drawn
from .confidence import test_outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 20
"""Classes; of more, those whose count is furthest from what it should be."""


def plot_prediction_counts(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test samples predicted as each class: rightly, wrongly, and how many there really are.

    A bar far above its mark is a class that swallows others, one far below a class that is being lost.

    Example:
        >>> from noiseproof.report import example_record, plot_prediction_counts
        >>> plot_prediction_counts(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: the probabilities of the final network were not kept

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 6
    """
    evidence = Evidence.of(run)
    probability, label = test_outputs(evidence)
    classes, prediction = probability.shape[1], probability.argmax(1)
    predicted = torch.bincount(prediction, minlength=classes)
    right = torch.bincount(label[prediction == label], minlength=classes)
    there = torch.bincount(label, minlength=classes)
    chosen = (predicted - there).abs().argsort(descending=True, stable=True)[:MOST].sort().values
    places, rightly = range(len(chosen)), right[chosen].tolist()
    axes = plain(new_axes(ax, 5.6, 3.6))
    axes.bar(places, rightly, color=CLEAN, width=0.72, label="predicted rightly")
    hatched: dict[str, Any] = {
        "color": WRONG,
        "hatch": "///",
        "edgecolor": PAPER,
        "label": "predicted wrongly",
    }
    axes.bar(places, (predicted - right)[chosen].tolist(), bottom=rightly, width=0.72, **hatched)
    ends = [place - 0.46 for place in places], [place + 0.46 for place in places]
    axes.hlines(there[chosen].tolist(), *ends, INK, linewidth=2, label="samples of the class")
    name_bars(axes, [drawn(evidence.class_name(number), 14) for number in chosen.tolist()])
    axes.set_ylabel("test samples")
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes
