"""Plots of several runs that are in the papers but not in reports."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from torch import Tensor

from ...report.evidence import Evidence, NotAvailableError, Source, groups_of
from ...report.figures.comparison import draw_seeds, group_lines
from ...report.figures.curves import class_curves
from ...report.palette import as_percent, finish_share_axes, format_epoch_axis, legend, new_axes, style_axes
from .analytic import bound_of_scale

STAGES = (10, 50, 100)
"""Epochs shown in Symmetric Cross Entropy, Fig. 3."""


def plot_train_accuracy(runs: Sequence[Source], *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Share of training samples whose prediction is the given label, right or wrong.

    Example:
        >>> from noiseproof.testing import example_record
        >>> plot_train_accuracy([example_record()]).get_ylabel()
        'training accuracy'

    Reference:
        Gradient Rescaling, Fig. 2; IMAE, Fig. 7; Noise Attention Learning, Fig. 7
    """
    return _plot_fit(runs, ax, "training accuracy", x, intact=False)


def plot_intact_accuracy(runs: Sequence[Source], *, ax: Axes | None = None, x: str = "epoch") -> Axes:
    """Share of training samples whose prediction is the true label.

    Reference:
        IMAE, Fig. 8
    """
    return _plot_fit(runs, ax, "accuracy against true labels", x, intact=True)


def plot_update_scales(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Average update scale of several runs, not normalised."""
    return _plot_scales(runs, ax, relative=False)


def plot_relative_update_scales(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Average update scale of several runs, divided by its maximum, and for NCE also an upper bound.

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 1a
    """
    return _plot_scales(runs, ax, relative=True)


def plot_class_accuracy_at_stages(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test accuracy of every class after epochs 10, 50 and 100, or at the same shares of a shorter run.

    Reference:
        Symmetric Cross Entropy, Fig. 3
    """
    curves, axes = class_curves(Evidence.of(run)), style_axes(new_axes(ax))
    for stage in stages(max(epochs[-1] for epochs, _ in curves.values())):
        found = {k: values[epochs.index(stage)] for k, (epochs, values) in curves.items() if stage in epochs}
        axes.plot(list(found), list(found.values()), marker="o", label=f"epoch {stage}")
    axes.set(xlabel="class", ylabel="test accuracy", ylim=(0, 1.02))
    as_percent(axes)
    legend(axes)
    return axes


def stages(epochs: int) -> list[int]:
    """
    >>> stages(120), stages(12), stages(1)
    ([10, 50, 100], [1, 5, 10], [1])
    """
    share = min(1.0, epochs / 120)
    return sorted({max(1, round(stage * share)) for stage in STAGES})


def _plot_fit(runs: Sequence[Source], ax: Axes | None, words: str, x: str, intact: bool) -> Axes:
    axes, groups = style_axes(new_axes(ax)), groups_of([Evidence.of(run) for run in runs])
    for group, line in zip(groups, group_lines(groups), strict=True):
        draw_seeds(axes, group.runs, [_fit(run, intact) for run in group.runs], line, x)
    return finish_share_axes(axes, words, x)


def _fit(run: Evidence, intact: bool) -> tuple[range, list[float]]:
    truth = run.record.clean_label if intact else run.record.label
    if truth is None:
        raise NotAvailableError(f"the true labels of {run.name} are not known")
    values = [_share(prediction.long(), truth) for prediction in run.record.prediction]
    return range(1, len(values) + 1), values


def _share(prediction: Tensor, truth: Tensor) -> float:
    """Share of equal predictions, among the samples visited in the epoch."""
    seen = prediction >= 0
    return float((prediction[seen] == truth[seen]).double().mean())


def _plot_scales(runs: Sequence[Source], ax: Axes | None, relative: bool) -> Axes:
    axes, groups = style_axes(new_axes(ax)), groups_of([Evidence.of(run) for run in runs])
    for group, line in zip(groups, group_lines(groups), strict=True):
        curves = [_normalised(run.series("alpha"), relative) for run in group.runs]
        draw_seeds(axes, group.runs, curves, line, "iteration")
        if relative and group.spec == "nce":
            bounds = [_normalised(bound_of_scale(run), relative) for run in group.runs]
            look = {"label": f"{line['label']}, bound of its weight", "linestyle": ":", "linewidth": 1.4}
            draw_seeds(axes, group.runs, bounds, line | look, "iteration")
    axes.set_ylabel("average update scale" + (" / its maximum" if relative else ""))
    axes.set_ylim(bottom=0)
    format_epoch_axis(axes, "iteration")
    legend(axes)
    return axes


def _normalised(curve: tuple[list[int], list[float]], relative: bool) -> tuple[list[int], list[float]]:
    epochs, values = curve
    top = max(values) if relative and max(values) > 0 else 1.0
    return epochs, [value / top for value in values]
