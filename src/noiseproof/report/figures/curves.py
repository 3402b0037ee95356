"""Curves over the epochs: accuracy of subsets and classes, and the scale of the updates."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

from ...losses.curves.drawing import COLOURS
from ..evidence import Evidence, NotAvailableError, Source
from ..palette import (
    CLEAN_LINE,
    FAINT,
    RECOVERED_LINE,
    SUSPECTED_LINE,
    TEST_LINE,
    WRONG_LINE,
    finish_share_axes,
    format_epoch_axis,
    legend,
    new_axes,
    style_axes,
)
from ..text import figure_text


def plot_subset_accuracy(run: Source, *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Accuracy over the epochs: test, right labels fitted, wrong labels memorised, truth recovered.

    With ``x="iteration"`` over the steps of training.

    *memorised* should be low and *recovered* high. Predictions are those made during training, with
    augmentation. Without clean labels, suspected labels replace wrong ones, and *recovered* is not drawn.

    Example:
        >>> from noiseproof.testing import example_record
        >>> [line.get_label() for line in plot_subset_accuracy(example_record()).get_lines()]
        ['right labels, fitted', 'wrong labels, memorised', 'wrong labels, truth recovered']

    Reference:
        IMAE for Noise-Robust Learning, Fig. 4; Gradient Rescaling, Table 3
    """
    evidence = Evidence.of(run)
    axes = style_axes(new_axes(ax))
    with suppress(NotAvailableError):
        tested, values = evidence.series("test_accuracy")
        axes.plot(evidence.along(x, tested), values, **TEST_LINE, label="test")
    epochs = evidence.along(x, range(1, evidence.record.epochs + 1))
    other = WRONG_LINE if evidence.is_known else SUSPECTED_LINE
    styles = (CLEAN_LINE, other, RECOVERED_LINE)
    for (name, values), line in zip(subset_curves(evidence).items(), styles, strict=False):
        axes.plot(epochs, values, **line, label=name)
    return finish_share_axes(axes, "accuracy", x)


def subset_curves(evidence: Evidence) -> dict[str, list[float]]:
    """Per epoch the accuracy on right and doubted labels, and on clean labels if known; nan if undefined."""
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
    """Per epoch, the share of the visited samples of the subset whose prediction equals the label."""
    seen = (prediction >= 0) & subset
    hits = ((prediction == label) & seen).sum(1)
    found: list[float] = torch.where(seen.any(1), hits / seen.sum(1), torch.nan).tolist()
    return found


NAMED = 3
LINES = (COLOURS[1], "--"), (COLOURS[3], "-."), (COLOURS[5], ":")


def plot_class_accuracy(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test accuracy of each class over the epochs; the three worst classes at the end have a legend.

    With cross entropy on noisy labels the accuracy of hard classes falls again; with a robust loss the lines
    stay together. A class without test samples has no line.

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 1, 3, 5
    """
    evidence = Evidence.of(run)
    curves = class_curves(evidence)
    axes = style_axes(new_axes(ax))
    worst = sorted(curves, key=lambda number: curves[number][1][-1])[:NAMED]
    for number, (epochs, values) in curves.items():
        if number not in worst:
            axes.plot(epochs, values, color=FAINT, linewidth=0.9, alpha=0.8)
    for number, (colour, dash) in zip(worst, LINES, strict=False):
        name = f"{figure_text(evidence.class_name(number))}, {curves[number][1][-1]:.0%}"
        axes.plot(*curves[number], color=colour, linestyle=dash, linewidth=1.8, label=name)
    axes.plot(*evidence.series("test_accuracy"), **TEST_LINE, label="all classes")
    title = {"title": "worst classes at the end", "title_fontsize": "small", "alignment": "left"}
    return finish_share_axes(axes, "test accuracy", **title)


def class_curves(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Epochs and accuracies by class number."""
    curves: dict[int, tuple[list[int], list[float]]] = {}
    for line in evidence.metrics:
        found: list[Any] = line.get("test_class_accuracy") or []
        for number, value in enumerate(found):
            if value is not None:
                epochs, values = curves.setdefault(number, ([], []))
                epochs.append(int(line["epoch"]))
                values.append(float(value))
    if not curves:
        raise NotAvailableError("accuracy by class was not measured in this run")
    return curves


SCALES = (
    ("alpha", "all samples", TEST_LINE),
    ("clean_alpha", "right labels", CLEAN_LINE),
    ("noisy_alpha", "wrong labels", WRONG_LINE),
)


def plot_update_scale(run: Source, *, ax: Axes | None = None) -> Axes:
    r"""Average update scale :math:`\alpha_t`: mean L1 norm of the logit gradient, weighted by learning rate.

    .. math:: \alpha_t = \frac{\sum_{i\le t}\eta_i\sum_{s\in B_i}\|\nabla_z\ell_s\|_1}
              {\sum_{i\le t}\eta_i|B_i|}

    A value that stays near 0 indicates underfitting. The scale of right labels should exceed that of wrong
    ones; their ratio is the signal to noise ratio.

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 1
    """
    evidence = Evidence.of(run)
    evidence.series("alpha")
    axes = style_axes(new_axes(ax))
    for metric, name, line in SCALES:
        try:
            axes.plot(*evidence.series(metric), **line, label=name)
        except NotAvailableError:
            continue
    axes.set_ylim(bottom=0)
    format_epoch_axis(axes)
    axes.set_ylabel("average update scale")
    legend(axes)
    return axes
