"""What the network makes of the inputs: its features, laid flat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..evidence import Evidence, NothingToShow, Source
from ..palette import CLASS_COLOURS, MARKERS, PAPER, new_axes
from ..wording import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 1000
NAMED = 20


def plot_features(run: Source, *, ax: Axes | None = None, seed: int = 0) -> Axes:
    """t-SNE of the test features before the last layer, coloured by class.

    Clear islands of one colour are good features; a network that memorised noise has frayed ones. Distances
    between islands mean nothing.

    Example:
        >>> from noiseproof.report import example_record, plot_features
        >>> plot_features(example_record())
        Traceback (most recent call last):
        noiseproof.report.evidence.NothingToShow: the features of the test data were not kept

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
            axes.text(
                x,
                y,
                drawn(evidence.class_name(number), 14),
                ha="center",
                va="center",
                bbox=box,
                fontweight="bold",
            )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def _features(evidence: Evidence) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    outputs = evidence.outputs
    if "test_features" not in outputs or "test_label" not in outputs:
        raise NothingToShow("the features of the test data were not kept")
    features = outputs["test_features"][:MOST].flatten(1).float()
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
