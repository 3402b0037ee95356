"""Which classes are learned, and which are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...losses.curves.drawing import COLOURS
from ..evidence import Evidence, NothingToShow, Source
from ..palette import FAINT, TEST_LINE, as_percent, legend, new_axes, over_epochs, plain
from ..wording import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 3
LINES = (COLOURS[1], "--"), (COLOURS[3], "-."), (COLOURS[5], ":")


def plot_class_accuracy(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test accuracy of each class over the epochs; the three worst at the end are named.

    Cross entropy on noisy labels learns easy classes and unlearns hard ones: lines that drift apart. A robust
    loss keeps them together. A class without test samples has no line.

    Example:
        >>> from noiseproof.report import example_record, plot_class_accuracy
        >>> plot_class_accuracy(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: accuracy by class was not measured in this run

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 1, 3, 5
    """
    evidence = Evidence.of(run)
    curves = class_curves(evidence)
    axes = plain(new_axes(ax))
    worst = sorted(curves, key=lambda number: curves[number][1][-1])[:NAMED]
    for number, (epochs, values) in curves.items():
        if number not in worst:
            axes.plot(epochs, values, color=FAINT, linewidth=0.9, alpha=0.8)
    for number, (colour, dash) in zip(worst, LINES, strict=False):
        name = f"{drawn(evidence.class_name(number))}, {curves[number][1][-1]:.0%}"
        axes.plot(*curves[number], color=colour, linestyle=dash, linewidth=1.8, label=name)
    axes.plot(*evidence.series("test_accuracy"), **TEST_LINE, label="all classes")
    axes.set_ylim(0, 1.02)
    over_epochs(axes)
    axes.set_ylabel("test accuracy")
    as_percent(axes)
    legend(axes, title="worst classes at the end", title_fontsize="small", alignment="left")
    return axes


def class_curves(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Class number to epochs and accuracies."""
    curves: dict[int, tuple[list[int], list[float]]] = {}
    for line in evidence.metrics:
        found: list[Any] = line.get("test_class_accuracy") or []
        for number, value in enumerate(found):
            if value is not None:
                epochs, values = curves.setdefault(number, ([], []))
                epochs.append(int(line["epoch"]))
                values.append(float(value))
    if not curves:
        raise NothingToShow("accuracy by class was not measured in this run")
    return curves
