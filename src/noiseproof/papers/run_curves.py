"""Curves of several runs that the papers draw and a report does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..losses.drawing import DASHES
from ..report.evidence import Evidence, NothingToShow, Source
from ..report.figures.class_accuracy import class_curves
from ..report.palette import as_percent, legend, loss_lines, new_axes, plain
from ..report.wording import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES = (10, 50, 100)
"""Epochs of Symmetric Cross Entropy, Fig. 3."""


def plot_train_accuracy(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Share of training samples predicted as they are labelled, wrong labels among them.

    Example:
        >>> from noiseproof.report import example_record
        >>> plot_train_accuracy([example_record()]).get_ylabel()
        'training accuracy'

    Reference:
        Gradient Rescaling, Fig. 2; IMAE, Fig. 7; Noise Attention Learning, Fig. 7
    """
    return _plot_fit(runs, ax, "training accuracy", intact=False)


def plot_intact_accuracy(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Share of training samples predicted as they should be labelled.

    Reference:
        IMAE, Fig. 8
    """
    return _plot_fit(runs, ax, "accuracy against true labels", intact=True)


def plot_update_scales(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Average update scale of several runs, as it is."""
    return _plot_scales(runs, ax, relative=False)


def plot_relative_update_scales(runs: Sequence[Source], *, ax: Axes | None = None) -> Axes:
    """Average update scale of several runs, each over its maximum.

    Reference:
        A Curriculum View of Robust Loss Functions, Fig. 1a
    """
    return _plot_scales(runs, ax, relative=True)


def plot_class_accuracy_at_stages(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test accuracy of every class after epochs 10, 50 and 100, or those of a shorter run in proportion.

    Reference:
        Symmetric Cross Entropy, Fig. 3
    """
    curves, axes = class_curves(Evidence.of(run)), plain(new_axes(ax))
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


def _plot_fit(runs: Sequence[Source], ax: Axes | None, words: str, intact: bool) -> Axes:
    found = [Evidence.of(run) for run in runs]
    axes = plain(new_axes(ax))
    for evidence, line in zip(found, _lines(found), strict=True):
        record = evidence.record
        truth = record.clean_label if intact else record.label
        if truth is None:
            raise NothingToShow(f"the true labels of {evidence.name} are not known")
        values = [_share(prediction.long(), truth) for prediction in record.prediction]
        axes.plot(range(1, len(values) + 1), values, **line)
    axes.set(xlabel="epoch", ylabel=words, ylim=(0, 1.02))
    as_percent(axes)
    legend(axes)
    return axes


def _share(prediction: Tensor, truth: Tensor) -> float:
    """Of the samples that were visited."""
    seen = prediction >= 0
    return float((prediction[seen] == truth[seen]).double().mean())


def _plot_scales(runs: Sequence[Source], ax: Axes | None, relative: bool) -> Axes:
    found = [Evidence.of(run) for run in runs]
    axes = plain(new_axes(ax))
    for evidence, line in zip(found, _lines(found), strict=True):
        epochs, values = evidence.series("alpha")
        top = max(values) if relative else 1.0
        axes.plot(epochs, [value / top if top else 0.0 for value in values], **line)
    axes.set(xlabel="epoch", ylabel="average update scale" + (" / its maximum" if relative else ""))
    axes.set_ylim(bottom=0)
    legend(axes)
    return axes


def _lines(runs: Sequence[Evidence]) -> list[dict[str, Any]]:
    """One colour per loss, another dash for each further run of it."""
    specs = [str(run.settings.get("method") or run.settings.get("loss") or run.name) for run in runs]
    looks, found = loss_lines(specs), list[dict[str, Any]]()
    for number, (run, spec) in enumerate(zip(runs, specs, strict=True)):
        look, earlier = looks[spec], specs[:number].count(spec)
        dash = DASHES[(DASHES.index(look["linestyle"]) + earlier) % len(DASHES)]
        name = spec if specs.count(spec) == 1 else f"{spec} ({run.name})"
        found.append({**look, "label": drawn(name, 40), "linestyle": dash, "linewidth": 1.8})
    return found
