"""A sheet of training samples with the doubtful ones boxed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...data import LabelledData
from ..evidence import Evidence, NothingToShow, Source
from ..inputs import inputs_of, pixels
from ..palette import FAINT, SUSPECTED, WRONG, legend, new_axes
from ..wording import drawn
from .data_map import some_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 10
CELL = 40
"""Pixels of a cell at least, so that small images keep sharp edges."""


def plot_sample_sheet(
    run: Source, *, ax: Axes | None = None, data: LabelledData | str | None = None, samples: int = 40
) -> Axes:
    """Training images drawn at random, with their given labels; what ``labels.find`` suspects is boxed.

    Where the truth is known, a box is orange if the label is really wrong and grey if it is not, and wrong
    labels nobody suspects have a dotted one.

    Args:
        data: the inputs, by default loaded again from the source the run names.

    Example:
        >>> from noiseproof.data import LabelledData
        >>> from noiseproof.report import example_record, plot_sample_sheet
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
        raise NothingToShow("the inputs are not images")
    rows = some_of(torch.ones(len(record), dtype=torch.bool), samples)
    images = [pixels(image) for image in inputs.read(record.index[rows].tolist())]
    lines = -(-len(images) // COLUMNS)
    axes = new_axes(ax, 8.0, 1.02 * lines + 0.5)
    canvas = sheet(images, COLUMNS)
    shape = (canvas.shape[0] / lines) / (canvas.shape[1] / COLUMNS)
    axes.imshow(canvas, extent=(0, COLUMNS, lines, 0), interpolation="nearest", aspect=shape)
    suspected = torch.tensor(evidence.suspects["is_label_issue"].to_numpy(dtype=bool))
    flipped = record.flipped if evidence.has_wrong else None
    for place, row in enumerate(rows.tolist()):
        x, y = place % COLUMNS, place // COLUMNS
        name = drawn(evidence.class_name(int(record.label[row])), 11)
        axes.text(x + 0.5, y + 0.98, name, ha="center", va="bottom", fontsize="x-small")
        _box(axes, x, y, _style(bool(suspected[row]), flipped, row))
    _name_boxes(axes, evidence.has_wrong)
    axes.set_axis_off()
    return axes


def sheet(images: list[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    """Images in the middle of squares, side by side with transparent room between and below: (H, W, 4)."""
    height, width = images[0].shape[:2]
    larger = max(1, -(-CELL // max(height, width)))
    height, width = height * larger, width * larger
    edge = max(height, width)
    side, foot = max(2, edge // 16), max(6, edge // 5)
    lines = -(-len(images) // columns)
    canvas = np.zeros((lines * (edge + 2 * side + foot), columns * (edge + 2 * side), 4), np.uint8)
    for place, image in enumerate(images):
        y = place // columns * (edge + 2 * side + foot) + side + (edge - height) // 2
        x = place % columns * (edge + 2 * side) + side + (edge - width) // 2
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
    from matplotlib.patches import Rectangle

    if style is not None:
        ax.add_patch(Rectangle((x + 0.03, y + 0.02), 0.94, 0.8, facecolor="none", linewidth=2.2, **style))


def _name_boxes(ax: Axes, known: bool) -> None:
    """A legend of the kinds of boxes."""
    from matplotlib.patches import Patch

    kinds: dict[str, dict[str, Any]] = {"suspected": {"edgecolor": SUSPECTED}}
    if known:
        missed = {"edgecolor": WRONG, "linestyle": ":"}
        kinds = {
            "suspected, label is wrong": {"edgecolor": WRONG},
            "suspected, label is right": {"edgecolor": FAINT},
        }
        kinds["wrong, not suspected"] = missed
    handles = [Patch(facecolor="none", linewidth=2, label=name, **style) for name, style in kinds.items()]
    legend(ax, handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
