"""Figures of the final predictions: confusion matrix, confidence, class counts and features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from torch import Tensor

from ..evidence import Evidence, NotAvailableError, Source
from ..palette import (
    CLASS_COLOURS,
    CLEAN,
    INK,
    MARKERS,
    PAPER,
    SUSPECTED,
    WRONG,
    as_percent,
    legend,
    name_bars,
    new_axes,
    style_axes,
)
from ..text import figure_text, percent

MAX_ANNOTATED_CLASSES = 15
"""Maximum number of classes with annotated cells; up to MAX_NAMED_CLASSES classes are named at the axes."""
MAX_NAMED_CLASSES = 30


def plot_confusion(run: Source, *, ax: Axes | None = None, labels: str | None = None) -> Axes:
    """Confusion matrix of true classes and labels with normalised rows; the diagonal is blue.

    Args:
        labels: "given", the labels of the training data; "corrected", with the suggestions of
            ``labels.find``; "targets", the likeliest class of the targets learned by the method. By default
            "given" if clean labels are known, otherwise "corrected".

    Without clean labels, rows are given labels, columns corrected labels, and suspects are off the diagonal.

    Example:
        >>> from noiseproof.testing import example_record
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
        raise NotAvailableError("the clean labels are not known")
    given = evidence.is_known and labels not in ("corrected", "targets")
    rows = record.label if record.clean_label is None else record.clean_label
    others = learned_targets if labels == "targets" else corrected_labels
    columns = record.label if given else others(evidence)
    size = min(7.0, 2.2 + 0.36 * min(record.num_classes, MAX_ANNOTATED_CLASSES))
    axes = new_axes(ax, size + 0.6, size)
    shares = row_shares(rows, columns, record.num_classes)
    _draw_cells(axes, shares, WRONG if evidence.is_known else SUSPECTED)
    axes.set_ylabel("true class" if evidence.is_known else "given label,\nsuspected off diagonal")
    axes.set_xlabel(
        "given label" if given else "learned target" if labels == "targets" else "corrected label"
    )
    _name_classes(axes, [figure_text(name, 12) for name in record.class_names])
    return axes


def corrected_labels(evidence: Evidence) -> Tensor:
    """(N,) given labels, with suspects replaced by the suggestions of ``labels.find``."""
    suggested = torch.tensor(evidence.suspects["predicted_label"].to_numpy(dtype="int64"))
    return torch.where(evidence.suspected & (suggested >= 0), suggested, evidence.record.label)


def learned_targets(evidence: Evidence) -> Tensor:
    """(N,) the likeliest class of the target of every sample."""
    target = evidence.outputs.get("target")
    if target is None:
        raise NotAvailableError(f"{evidence.name} has no learned targets: only nal, elr and selc do")
    if target.shape != (len(evidence.record.label), evidence.record.num_classes):
        raise NotAvailableError(f"the targets of {evidence.name} do not fit its samples and classes")
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
    if len(names) <= MAX_NAMED_CLASSES:
        ax.set_xticks(range(len(names)), names, rotation=90 if max(map(len, names)) > 3 else 0)
        ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, labelsize="small")
    ax.spines[:].set_visible(False)


def _draw_cells(ax: Axes, shares: Tensor, off: str) -> None:
    """Draw cells with colours for diagonal and off-diagonal and opacity for the share."""
    classes = len(shares)
    picture = np.zeros((classes, classes, 4))
    picture[..., :3] = to_rgb(off)
    picture[np.arange(classes), np.arange(classes), :3] = to_rgb(CLEAN)
    picture[..., 3] = shares.numpy() ** 0.6
    ax.imshow(picture, interpolation="nearest", aspect="equal")
    if classes > MAX_ANNOTATED_CLASSES:
        return
    for row, entries in enumerate(shares.tolist()):
        for column, share in enumerate(entries):
            if share >= 0.005:
                look: dict[str, Any] = {"fontsize": "x-small", "color": "white" if share > 0.45 else "black"}
                ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", **look)


MAX_BARS = 12
"""Largest number of bars; the classes with the highest confidence are shown."""


def plot_confidence(run: Source, *, ax: Axes | None = None, of: int | None = None) -> Axes:
    """Mean predicted probability of every class over the test samples of one class.

    Args:
        of: the class; by default the one with the lowest accuracy.

    The blue bar, the class itself, should be high and all others low; memorised noise raises the others.

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 4
    """
    evidence = Evidence.of(run)
    probability, label = test_outputs(evidence)
    chosen = hardest_class(probability, label) if of is None else of
    mine = probability[label == chosen]
    if len(mine) == 0:
        raise NotAvailableError(f"the test data have no sample of class {chosen}")
    mean = mine.mean(0)
    shown = mean.argsort(descending=True)[:MAX_BARS].sort().values.tolist()
    axes = style_axes(new_axes(ax, 5.6, 3.3))
    colours = [CLEAN if number == chosen else WRONG for number in shown]
    bars = axes.bar(range(len(shown)), mean[shown].tolist(), color=colours, width=0.72)
    axes.bar_label(bars, [percent(value, 0) for value in mean[shown].tolist()], fontsize="small", padding=2)
    name_bars(axes, [figure_text(evidence.class_name(number), 14) for number in shown])
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("mean probability")
    axes.set_title(
        f"test samples of class {figure_text(evidence.class_name(chosen))}", loc="left", fontsize="medium"
    )
    as_percent(axes)
    return axes


def test_outputs(evidence: Evidence) -> tuple[Tensor, Tensor]:
    """Probabilities (N, C) and labels (N,) of the test data."""
    outputs = evidence.outputs
    if "test_probability" not in outputs or "test_label" not in outputs:
        raise NotAvailableError("the probabilities of the final network were not saved")
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


MAX_COUNTS = 20
"""Largest number of bars; the classes with the largest deviation of their count are shown."""


def plot_prediction_counts(run: Source, *, ax: Axes | None = None) -> Axes:
    """Correct and wrong predictions of each class on the test data, and the true number of its samples.

    A bar far above its mark is a class that is predicted too often, a bar far below one too rarely.

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 6
    """
    evidence = Evidence.of(run)
    probability, label = test_outputs(evidence)
    classes, prediction = probability.shape[1], probability.argmax(1)
    predicted = torch.bincount(prediction, minlength=classes)
    right = torch.bincount(label[prediction == label], minlength=classes)
    actual = torch.bincount(label, minlength=classes)
    chosen = (predicted - actual).abs().argsort(descending=True, stable=True)[:MAX_COUNTS].sort().values
    positions, correct = range(len(chosen)), right[chosen].tolist()
    axes = style_axes(new_axes(ax, 5.6, 3.6))
    axes.bar(positions, correct, color=CLEAN, width=0.72, label="correct predictions")
    hatched: dict[str, Any] = {"color": WRONG, "hatch": "///", "edgecolor": PAPER, "width": 0.72}
    wrong = (predicted - right)[chosen].tolist()
    axes.bar(positions, wrong, bottom=correct, label="wrong predictions", **hatched)
    ends = [position - 0.46 for position in positions], [position + 0.46 for position in positions]
    axes.hlines(actual[chosen].tolist(), *ends, INK, linewidth=2, label="samples of the class")
    name_bars(axes, [figure_text(evidence.class_name(number), 14) for number in chosen.tolist()])
    axes.set_ylabel("test samples")
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes


MAX_POINTS = 1000
NAMED = 20


def plot_features(run: Source, *, ax: Axes | None = None, seed: int = 0) -> Axes:
    """t-SNE of the test features before the last layer, coloured by class.

    Good features form one compact cluster per class. Distances between clusters are not meaningful.

    Reference:
        van der Maaten & Hinton, Visualizing Data using t-SNE, JMLR 2008; Symmetric Cross Entropy, Fig. 2
    """
    evidence = Evidence.of(run)
    features, label = _features(evidence)
    points = _tsne(features, seed)
    axes = new_axes(ax, 5.2, 4.6)
    present = sorted(set(label.tolist()))
    for number in present:
        mine = points[label == number]
        marker, colour = divmod(number, len(CLASS_COLOURS))
        style: dict[str, Any] = {"color": CLASS_COLOURS[colour], "marker": MARKERS[marker % len(MARKERS)]}
        axes.scatter(mine[:, 0], mine[:, 1], s=12, alpha=0.7, linewidths=0, rasterized=True, **style)
    if len(present) <= NAMED:
        for number in present:
            x, y = np.median(points[label == number], axis=0)
            box = {"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.8}
            look: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "fontweight": "bold"}
            axes.text(x, y, figure_text(evidence.class_name(number), 14), **look)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def _features(evidence: Evidence) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    outputs = evidence.outputs
    if "test_features" not in outputs or "test_label" not in outputs:
        raise NotAvailableError("the features of the test data were not saved")
    features = outputs["test_features"][:MAX_POINTS].flatten(1).float()
    if len(features) < 5 or features.shape[1] < 2:
        raise NotAvailableError("there are too few test features for t-SNE")
    return features.numpy(), outputs["test_label"][: len(features)].long().numpy()


def _tsne(features: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    reduced = PCA(min(50, *features.shape), svd_solver="full").fit_transform(features)
    perplexity = min(30.0, (len(features) - 1) / 4)
    tsne = TSNE(2, perplexity=perplexity, init="pca", random_state=seed)
    points: NDArray[np.float64] = tsne.fit_transform(reduced)
    return points
