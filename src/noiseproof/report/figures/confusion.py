"""Which class is taken for which: labels as given, and as the network would correct them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from matplotlib.colors import to_rgb
from torch import Tensor

from ..evidence import Evidence, NothingToShow, Source
from ..palette import CLEAN, SUSPECTED, WRONG, new_axes
from ..wording import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN = 15
"""Up to so many classes every cell carries its number, up to NAMED every row its name."""
NAMED = 30


def plot_confusion(run: Source, *, ax: Axes | None = None, labels: str | None = None) -> Axes:
    """True class against label, each row adding up to 100%: blue where they agree, orange where not.

    Args:
        labels: "given", as they are in the training data; "corrected", as ``labels.find`` suggests;
            "targets", the likeliest class of the targets that the method of the run has learned. By default
            the first where the truth is known, else the second.

    Where the truth is not known, rows are given labels and columns corrected ones, and what lies off the
    diagonal is suspected.

    Example:
        >>> from noiseproof.report import example_record, plot_confusion
        >>> plot_confusion(example_record()).get_ylabel()
        'true class'

    Reference:
        Noise Attention Learning, Fig. 1 to 6
    """
    if labels not in (None, "given", "corrected", "targets"):
        raise ValueError(f"labels={labels!r} is unknown: use 'given', 'corrected' or 'targets'")
    evidence = Evidence.of(run)
    record = evidence.record
    if labels == "given" and not evidence.is_known:
        raise NothingToShow("what the given labels should be is not known")
    given = evidence.is_known and labels not in ("corrected", "targets")
    rows = record.label if record.clean_label is None else record.clean_label
    others = learned_targets if labels == "targets" else corrected_labels
    columns = record.label if given else others(evidence)
    size = min(7.0, 2.2 + 0.36 * min(record.num_classes, WRITTEN))
    axes = new_axes(ax, size + 0.6, size)
    shares = row_shares(rows, columns, record.num_classes)
    _draw_cells(axes, shares, WRONG if evidence.is_known else SUSPECTED)
    axes.set_ylabel("true class" if evidence.is_known else "given label,\nsuspected off diagonal")
    axes.set_xlabel(
        "given label" if given else "learned target" if labels == "targets" else "corrected label"
    )
    _name_classes(axes, [drawn(name, 12) for name in record.class_names])
    return axes


def corrected_labels(evidence: Evidence) -> Tensor:
    """(N,) given labels, and where ``labels.find`` doubts one, what it suggests instead."""
    suspects = evidence.suspects
    doubted = torch.tensor(suspects["is_label_issue"].to_numpy(dtype=bool))
    suggested = torch.tensor(suspects["predicted_label"].to_numpy(dtype="int64"))
    return torch.where(doubted & (suggested >= 0), suggested, evidence.record.label)


def learned_targets(evidence: Evidence) -> Tensor:
    """(N,) the likeliest class of the target of every sample."""
    target = evidence.outputs.get("target")
    if target is None:
        raise NothingToShow(f"{evidence.name} has no learned targets: they are those of nal, elr or selc")
    if target.shape != (len(evidence.record.label), evidence.record.num_classes):
        raise NothingToShow(f"the targets of {evidence.name} do not fit its samples and classes")
    return target.argmax(1)


def row_shares(rows: Tensor, columns: Tensor, classes: int) -> Tensor:
    """(K, K) share of each column among the samples of a row; a row without samples is 0.

    Example:
        >>> row_shares(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), 2)
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000]])
    """
    counts = torch.bincount(rows * classes + columns, minlength=classes**2).reshape(classes, classes)
    return counts / counts.sum(1, keepdim=True).clamp_min(1)


def _name_classes(ax: Axes, names: list[str]) -> None:
    if len(names) <= NAMED:
        ax.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 3 else 0)
        ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, labelsize="small")
    ax.spines[:].set_visible(False)


def _draw_cells(ax: Axes, shares: Tensor, off: str) -> None:
    """Colour says right or not, depth says how much; transparent where there is nothing."""
    classes = len(shares)
    picture = np.zeros((classes, classes, 4))
    picture[..., :3] = to_rgb(off)
    picture[np.arange(classes), np.arange(classes), :3] = to_rgb(CLEAN)
    picture[..., 3] = shares.numpy() ** 0.6
    ax.imshow(picture, interpolation="nearest", aspect="equal")
    if classes > WRITTEN:
        return
    for row, entries in enumerate(shares.tolist()):
        for column, share in enumerate(entries):
            if share >= 0.005:
                colour = "white" if share > 0.45 else "black"
                ax.text(
                    column,
                    row,
                    f"{100 * share:.0f}",
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color=colour,
                )
