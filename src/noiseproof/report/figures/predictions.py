"""What the final network predicts: confusion of classes, confidence, counts and features."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray
from torch import Tensor

from ..evidence import Evidence, NothingToShow, Source
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
    plain,
)
from ..wording import drawn, percent

WRITTEN = 15
"""Up to so many classes every cell carries its number, up to NAMED_ROWS every row its name."""
NAMED_ROWS = 30


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
    suggested = torch.tensor(evidence.suspects["predicted_label"].to_numpy(dtype="int64"))
    return torch.where(evidence.suspected & (suggested >= 0), suggested, evidence.record.label)


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
    if len(names) <= NAMED_ROWS:
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
                look: dict[str, Any] = {"fontsize": "x-small", "color": "white" if share > 0.45 else "black"}
                ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", **look)


MOST_BARS = 12
"""Bars; of many classes those with most confidence are shown."""


def plot_confidence(run: Source, *, ax: Axes | None = None, of: int | None = None) -> Axes:
    """Mean predicted probability of every class over the test samples of one class.

    Args:
        of: the class; by default the one the final network gets wrong most often.

    A network that memorised noise spreads its confidence over classes the samples do not belong to: the blue
    bar, the class itself, should stand alone.

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
    shown = mean.argsort(descending=True)[:MOST_BARS].sort().values.tolist()
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


MOST_COUNTS = 20
"""Classes; of more, those whose count is furthest from what it should be."""


def plot_prediction_counts(run: Source, *, ax: Axes | None = None) -> Axes:
    """Test samples predicted as each class: rightly, wrongly, and how many there really are.

    A bar far above its mark is a class that swallows others, one far below a class that is being lost.

    Reference:
        Symmetric Cross Entropy for Robust Learning with Noisy Labels, Fig. 6
    """
    evidence = Evidence.of(run)
    probability, label = test_outputs(evidence)
    classes, prediction = probability.shape[1], probability.argmax(1)
    predicted = torch.bincount(prediction, minlength=classes)
    right = torch.bincount(label[prediction == label], minlength=classes)
    there = torch.bincount(label, minlength=classes)
    chosen = (predicted - there).abs().argsort(descending=True, stable=True)[:MOST_COUNTS].sort().values
    places, rightly = range(len(chosen)), right[chosen].tolist()
    axes = plain(new_axes(ax, 5.6, 3.6))
    axes.bar(places, rightly, color=CLEAN, width=0.72, label="predicted rightly")
    hatched: dict[str, Any] = {"color": WRONG, "hatch": "///", "edgecolor": PAPER, "width": 0.72}
    wrongly = (predicted - right)[chosen].tolist()
    axes.bar(places, wrongly, bottom=rightly, label="predicted wrongly", **hatched)
    ends = [place - 0.46 for place in places], [place + 0.46 for place in places]
    axes.hlines(there[chosen].tolist(), *ends, INK, linewidth=2, label="samples of the class")
    name_bars(axes, [drawn(evidence.class_name(number), 14) for number in chosen.tolist()])
    axes.set_ylabel("test samples")
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes


MOST_POINTS = 1000
NAMED = 20


def plot_features(run: Source, *, ax: Axes | None = None, seed: int = 0) -> Axes:
    """t-SNE of the test features before the last layer, coloured by class.

    Clear islands of one colour are good features; a network that memorised noise has frayed ones. Distances
    between islands mean nothing.

    Reference:
        van der Maaten & Hinton, Visualizing Data using t-SNE, JMLR 2008; Symmetric Cross Entropy, Fig. 2
    """
    evidence = Evidence.of(run)
    features, label = _features(evidence)
    places = _flattened(features, seed)
    axes = new_axes(ax, 5.2, 4.6)
    present = sorted(set(label.tolist()))
    for number in present:
        mine = places[label == number]
        lap, place = divmod(number, len(CLASS_COLOURS))
        style: dict[str, Any] = {"color": CLASS_COLOURS[place], "marker": MARKERS[lap % len(MARKERS)]}
        axes.scatter(mine[:, 0], mine[:, 1], s=12, alpha=0.7, linewidths=0, rasterized=True, **style)
    if len(present) <= NAMED:
        for number in present:
            x, y = np.median(places[label == number], axis=0)
            box = {"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.8}
            look: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "fontweight": "bold"}
            axes.text(x, y, drawn(evidence.class_name(number), 14), **look)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def _features(evidence: Evidence) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    outputs = evidence.outputs
    if "test_features" not in outputs or "test_label" not in outputs:
        raise NothingToShow("the features of the test data were not kept")
    features = outputs["test_features"][:MOST_POINTS].flatten(1).float()
    if len(features) < 5 or features.shape[1] < 2:
        raise NothingToShow("too few test features to lay flat")
    return features.numpy(), outputs["test_label"][: len(features)].long().numpy()


def _flattened(features: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    fewer = min(50, *features.shape)
    short = PCA(fewer, svd_solver="full").fit_transform(features)
    perplexity = min(30.0, (len(features) - 1) / 4)
    places: NDArray[np.float64] = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(
        short
    )
    return places
