"""How sure the network is of each class, on the samples of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..evidence import Evidence, NothingToShow, Source
from ..palette import CLEAN, WRONG, as_percent, name_bars, new_axes, plain
from ..wording import drawn, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 12
"""Bars; of many classes those with most confidence are shown."""


def plot_confidence(run: Source, *, ax: Axes | None = None, of: int | None = None) -> Axes:
    """Mean predicted probability of every class over the test samples of one class.

    Args:
        of: the class; by default the one the final network gets wrong most often.

    A network that memorised noise spreads its confidence over classes the samples do not belong to: the blue
    bar, the class itself, should stand alone.

    Example:
        >>> from noiseproof.report import example_record, plot_confidence
        >>> plot_confidence(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: the probabilities of the final network were not kept

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 4
    """
    evidence = Evidence.of(run)
    probability, label = test_outputs(evidence)
    chosen = hardest_class(probability, label) if of is None else of
    mine = probability[label == chosen]
    if len(mine) == 0:
        raise NothingToShow(f"the test data hold no sample of class {chosen}")
    mean = mine.mean(0)
    shown = mean.argsort(descending=True)[:MOST].sort().values.tolist()
    axes = plain(new_axes(ax, 5.6, 3.3))
    colours = [CLEAN if number == chosen else WRONG for number in shown]
    bars = axes.bar(range(len(shown)), mean[shown].tolist(), color=colours, width=0.72)
    axes.bar_label(bars, [percent(value, 0) for value in mean[shown].tolist()], fontsize="small", padding=2)
    name_bars(axes, [drawn(evidence.class_name(number), 14) for number in shown])
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("mean probability")
    axes.set_title(
        f"test samples of class {drawn(evidence.class_name(chosen))}", loc="left", fontsize="medium"
    )
    as_percent(axes)
    return axes


def test_outputs(evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Probabilities (N, C) and labels (N,) of the test data."""
    outputs = evidence.outputs
    if "test_probability" not in outputs or "test_label" not in outputs:
        raise NothingToShow("the probabilities of the final network were not kept")
    return outputs["test_probability"].float(), outputs["test_label"].long()


def hardest_class(probability: Tensor, label: Tensor) -> int:
    """The class with the lowest accuracy.

    Example:
        >>> hardest_class(torch.tensor([[0.9, 0.1], [0.8, 0.2]]), torch.tensor([0, 1]))
        1
    """
    classes = probability.shape[1]
    right = torch.bincount(label[probability.argmax(1) == label], minlength=classes)
    total = torch.bincount(label, minlength=classes)
    return int(torch.where(total > 0, right / total, torch.inf).argmin())
