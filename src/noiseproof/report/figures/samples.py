"""Figures of single samples: data map, detection of wrong labels, and a sheet of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from torch import Tensor

from ...data import LabelledData
from ...dynamics.statistics import confidence, final_margin, mean_margin, variability
from ..evidence import Evidence, NotAvailableError, Source
from ..inputs import inputs_of, pixels
from ..palette import CLEAN, FAINT, INK, RECOVERED, SUSPECTED, WRONG, as_percent, legend, new_axes, style_axes
from ..text import figure_text

MAX_POINTS = 4000
"""Largest number of points of each kind."""
REGIONS = ((0.94, "fitted from early on"), (0.06, "never fitted"))


def plot_data_map(run: Source, *, ax: Axes | None = None) -> Axes:
    r"""Confidence against variability: mean and deviation over epochs of :math:`p_y = \sigma(\Delta)`.

    Labels that the network fits early are at the top left, labels that it never fits, such as wrong ones, at
    the bottom left, and labels with varying predictions on the right. Of many samples a fixed random part is
    drawn.

    Example:
        >>> from noiseproof.testing import example_record
        >>> plot_data_map(example_record()).get_ylabel()
        'confidence: mean of p'

    Reference:
        Swayamdipta et al., Dataset Cartography, EMNLP 2020
    """
    evidence = Evidence.of(run)
    height, width = confidence(evidence.record), variability(evidence.record)
    axes = style_axes(new_axes(ax, 5.6, 4.0))
    right = "right" if evidence.is_known else "other"
    doubted = WRONG if evidence.is_known else SUSPECTED
    groups = ((~evidence.doubted, CLEAN, "o", right), (evidence.doubted, doubted, "^", evidence.word))
    for mask, colour, marker, word in groups:
        part = subsample(mask & height.isfinite(), MAX_POINTS)
        look: dict[str, Any] = {"s": 9, "color": colour, "alpha": 0.7, "marker": marker, "linewidths": 0}
        axes.scatter(
            width[part].numpy(), height[part].numpy(), label=f"{word} labels", rasterized=True, **look
        )
    for level, words in REGIONS:
        look = {"color": FAINT, "fontstyle": "italic", "ha": "right", "va": "center"}
        axes.text(0.985, level, words, transform=axes.transAxes, **look)
    axes.set_xlim(-0.01, 0.51)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("variability: standard deviation of p")
    axes.set_ylabel("confidence: mean of p")
    as_percent(axes)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, markerscale=2)
    return axes


def subsample(mask: Tensor, limit: int) -> Tensor:
    """At most ``limit`` positions of the mask, a fixed random part."""
    positions = mask.nonzero().squeeze(1)
    if len(positions) <= limit:
        return positions
    order = torch.randperm(len(positions), generator=torch.Generator().manual_seed(0))
    return positions[order[:limit]]


def plot_detection(run: Source, *, ax: Axes | None = None) -> Axes:
    """Precision and recall of the label score for the detection of wrong labels.

    The dot is the choice of ``labels.find``. The thin lines are simpler scores: the margin of the last epoch,
    and its mean over all epochs. The dashed line is the precision of random guessing.

    Example:
        >>> from noiseproof.testing import example_record
        >>> plot_detection(example_record()).get_xlabel()
        'recall: wrong labels found'

    Reference:
        Pleiss et al., Identifying Mislabeled Data using the Area Under the Margin Ranking, NeurIPS 2020
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    evidence = Evidence.of(run)
    flipped = evidence.record.flipped
    if flipped is None or not bool(flipped.any()):
        raise NotAvailableError("no label is known to be wrong")
    score = torch.tensor(evidence.suspects["label_score"].to_numpy(dtype=float))
    thin: dict[str, Any] = {"linewidth": 1.2}
    scores: dict[str, tuple[Tensor, dict[str, Any]]] = {
        "label score": (score, {"color": WRONG, "linewidth": 2.2}),
        "mean margin": (mean_margin(evidence.record), thin | {"color": CLEAN, "linestyle": "--"}),
        "last margin": (final_margin(evidence.record), thin | {"color": RECOVERED, "linestyle": ":"}),
    }
    axes = style_axes(new_axes(ax))
    for name, (values, line) in scores.items():
        wrongness = -values.double().nan_to_num(1e300).numpy()  # samples without a score come last
        precision, recall, _ = precision_recall_curve(flipped.numpy(), wrongness)
        area = average_precision_score(flipped.numpy(), wrongness)
        axes.plot(recall, precision, label=f"{name}, average {area:.1%}", **line)
    _mark_choice(axes, evidence, flipped)
    axes.axhline(float(flipped.float().mean()), color=FAINT, linestyle="--", linewidth=1, label="guessing")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("recall: wrong labels found")
    axes.set_ylabel("precision: suspects truly wrong")
    as_percent(axes)
    as_percent(axes, axis="x")
    legend(axes)
    return axes


def _mark_choice(ax: Axes, evidence: Evidence, flipped: Tensor) -> None:
    chosen = evidence.suspected
    if bool(chosen.any()):
        hits = int((chosen & flipped).sum())
        recall, precision = hits / int(flipped.sum()), hits / int(chosen.sum())
        label = f"suspects: {int(chosen.sum()):,}"
        ax.plot(recall, precision, "o", color=INK, markersize=8, zorder=9, label=label)


COLUMNS = 10
CELL = 40
"""Smallest side of a cell in pixels; small images are enlarged."""


def plot_sample_sheet(
    run: Source, *, ax: Axes | None = None, data: LabelledData | str | None = None, samples: int = 40
) -> Axes:
    """Random training images with their given labels; suspects of ``labels.find`` are boxed.

    If clean labels are known, the box is orange if the label is truly wrong and grey if it is right, and
    wrong labels that are not suspected have a dotted box.

    Args:
        data: the inputs, by default loaded from the source of the run.

    Example:
        >>> from noiseproof.data import LabelledData
        >>> from noiseproof.testing import example_record
        >>> record = example_record(60)
        >>> images = LabelledData(torch.rand(60, 1, 8, 8), record.label)
        >>> len(plot_sample_sheet(record, data=images).texts)
        40

    Reference:
        Wang et al., Derivative Manipulation / Gradient Rescaling, Fig. 3
    """
    evidence = Evidence.of(run)
    record, inputs = evidence.record, inputs_of(evidence, data)
    if not inputs.are_images:
        raise NotAvailableError("the inputs are not images")
    rows = subsample(torch.ones(len(record), dtype=torch.bool), samples)
    images = [pixels(image) for image in inputs.read(record.index[rows].tolist())]
    lines = -(-len(images) // COLUMNS)
    axes = new_axes(ax, 8.0, 1.02 * lines + 0.5)
    canvas = sheet(images, COLUMNS)
    shape = (canvas.shape[0] / lines) / (canvas.shape[1] / COLUMNS)
    axes.imshow(canvas, extent=(0, COLUMNS, lines, 0), interpolation="nearest", aspect=shape)
    suspected = evidence.suspected
    flipped = record.flipped if evidence.has_wrong else None
    for number, row in enumerate(rows.tolist()):
        x, y = number % COLUMNS, number // COLUMNS
        name = figure_text(evidence.class_name(int(record.label[row])), 11)
        axes.text(x + 0.5, y + 0.98, name, ha="center", va="bottom", fontsize="x-small")
        _box(axes, x, y, _style(bool(suspected[row]), flipped, row))
    _name_boxes(axes, evidence.has_wrong)
    axes.set_axis_off()
    return axes


def sheet(images: list[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    """Images centred in squares, side by side with transparent margins between and below: (H, W, 4)."""
    height, width = images[0].shape[:2]
    larger = max(1, -(-CELL // max(height, width)))
    height, width = height * larger, width * larger
    edge = max(height, width)
    side, foot = max(2, edge // 16), max(6, edge // 5)
    lines = -(-len(images) // columns)
    canvas = np.zeros((lines * (edge + 2 * side + foot), columns * (edge + 2 * side), 4), np.uint8)
    for number, image in enumerate(images):
        y = number // columns * (edge + 2 * side + foot) + side + (edge - height) // 2
        x = number % columns * (edge + 2 * side) + side + (edge - width) // 2
        canvas[y : y + height, x : x + width, :3] = image.repeat(larger, 0).repeat(larger, 1)
        canvas[y : y + height, x : x + width, 3] = 255
    return canvas


def _style(suspected: bool, flipped: Tensor | None, row: int) -> dict[str, Any] | None:
    if flipped is None:
        return {"edgecolor": SUSPECTED} if suspected else None
    if suspected:
        return {"edgecolor": WRONG if bool(flipped[row]) else FAINT}
    return {"edgecolor": WRONG, "linestyle": ":"} if bool(flipped[row]) else None


def _box(ax: Axes, x: float, y: float, style: dict[str, Any] | None) -> None:
    if style is not None:
        ax.add_patch(Rectangle((x + 0.03, y + 0.02), 0.94, 0.8, facecolor="none", linewidth=2.2, **style))


def _name_boxes(ax: Axes, known: bool) -> None:
    """Add a legend of the kinds of boxes."""
    kinds: dict[str, dict[str, Any]] = {"suspected": {"edgecolor": SUSPECTED}}
    if known:
        missed = {"edgecolor": WRONG, "linestyle": ":"}
        right, wrong = {"edgecolor": FAINT}, {"edgecolor": WRONG}
        kinds = {"suspected, label is wrong": wrong, "suspected, label is right": right}
        kinds["wrong, not suspected"] = missed
    handles = [Patch(facecolor="none", linewidth=2, label=name, **style) for name, style in kinds.items()]
    legend(ax, handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
