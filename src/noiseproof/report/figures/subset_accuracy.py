"""Memorised or recovered: how training samples are predicted, by whether their label is right."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..evidence import Evidence, NothingToShow, Source
from ..palette import (
    CLEAN_LINE,
    RECOVERED_LINE,
    SUSPECTED_LINE,
    TEST_LINE,
    WRONG_LINE,
    as_percent,
    legend,
    new_axes,
    over_epochs,
    plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_subset_accuracy(run: Source, *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Accuracy over the epochs: test, right labels fitted, wrong labels memorised, truth recovered.

    With ``x="iteration"`` over the steps of training.

    Good training keeps *memorised* low and *recovered* high. Predictions are those made while training, with
    its augmentation. Without clean labels the suspected samples take the place of the wrong ones, and nobody
    knows what was recovered.

    Example:
        >>> from noiseproof.report import example_record, plot_subset_accuracy
        >>> [line.get_label() for line in plot_subset_accuracy(example_record()).get_lines()]
        ['right labels, fitted', 'wrong labels, memorised', 'wrong labels, truth recovered']

    Reference:
        IMAE for Noise-Robust Learning, Fig. 4; Gradient Rescaling, Table 3
    """
    evidence = Evidence.of(run)
    axes = plain(new_axes(ax))
    with suppress(NothingToShow):
        tested, values = evidence.series("test_accuracy")
        axes.plot(evidence.along(x, tested), values, **TEST_LINE, label="test")
    epochs = evidence.along(x, range(1, evidence.record.epochs + 1))
    other = WRONG_LINE if evidence.is_known else SUSPECTED_LINE
    styles = (CLEAN_LINE, other, RECOVERED_LINE)
    for (name, values), line in zip(subset_curves(evidence).items(), styles, strict=False):
        axes.plot(epochs, values, **line, label=name)
    axes.set_ylim(0, 1.02)
    over_epochs(axes, x)
    axes.set_ylabel("accuracy")
    as_percent(axes)
    legend(axes)
    return axes


def subset_curves(evidence: Evidence) -> dict[str, list[float]]:
    """Per epoch the accuracy on right and doubted labels, and against a truth that is known; nan for none."""
    record, doubted = evidence.record, evidence.doubted
    prediction = record.prediction.long()
    right = "right" if evidence.is_known else "other"
    curves = {
        f"{right} labels, fitted": _share(prediction, record.label, ~doubted),
        f"{evidence.word} labels, memorised": _share(prediction, record.label, doubted),
    }
    if record.clean_label is not None:
        curves["wrong labels, truth recovered"] = _share(prediction, record.clean_label, doubted)
    return curves


def _share(prediction: Tensor, label: Tensor, subset: Tensor) -> list[float]:
    """Per epoch, of the samples of the subset that were visited, the share predicted as labelled."""
    seen = (prediction >= 0) & subset
    hits = ((prediction == label) & seen).sum(1)
    found: list[float] = torch.where(seen.any(1), hits / seen.sum(1), torch.nan).tolist()
    return found
