"""The figures of a page, with titles and captions, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes

from . import figures
from .evidence import NotAvailableError
from .markup import embed


@dataclass(frozen=True)
class FigureSpec:
    """Function, title and caption of a figure."""

    plot: Callable[..., Axes]
    title: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class RenderedFigure:
    """A figure as markup, or the reason why it is not available."""

    name: str
    title: str
    caption: str
    markup: Markup | None
    why_not: str | None
    wide: bool
    alone: bool = False
    """Whether it has no neighbour in the second column of the page."""


RUN_FIGURES: dict[str, FigureSpec] = {
    "margins": FigureSpec(
        figures.plot_margin_ridges,
        "Margins and gradient",
        "Density of the margins of all training samples, epoch by epoch, below the emphasis curve of the loss"
        " if it has one. Samples in the grey area get gradient. Good: the densities separate, and {wrong}"
        " labels stay on the left, outside the grey area.",
        wide=True,
    ),
    "subsets": FigureSpec(
        figures.plot_subset_accuracy,
        "Memorised or recovered",
        "Good: the last epoch has the best test accuracy, and few {wrong} labels are memorised.",
    ),
    "share": FigureSpec(
        figures.plot_emphasis_share,
        "Gradient on {wrong} labels",
        "Good: below the dashed line, so that {wrong} labels get less gradient than their share of samples.",
    ),
    "classes": FigureSpec(
        figures.plot_class_accuracy,
        "Accuracy by class",
        "Good: the lines stay together. A falling line is a class that is lost to noise.",
    ),
    "counts": FigureSpec(
        figures.plot_prediction_counts,
        "Predicted classes",
        "Good: bars end at their marks, without hatched parts.",
    ),
    "confidence": FigureSpec(
        figures.plot_confidence,
        "Confidence on the hardest class",
        "Good: a high bar for the class itself, and low bars for all others.",
    ),
    "scale": FigureSpec(
        figures.plot_update_scale,
        "Average update scale",
        "Mean norm of the logit gradient. Near zero at the beginning: underfitting. Good: right above wrong.",
    ),
    "map": FigureSpec(
        figures.plot_data_map,
        "Data map",
        "Each point is a sample. Labels that the network never fits are at the bottom.",
    ),
    "detection": FigureSpec(
        figures.plot_detection,
        "Finding the wrong labels",
        "Good: the thick line is at the top. The dot is the choice made without clean labels.",
    ),
    "given": FigureSpec(
        partial(figures.plot_confusion, labels="given"),
        "Labels as given",
        "Rows add up to 100%. On the diagonal, label and true class are equal.",
    ),
    "corrected": FigureSpec(
        partial(figures.plot_confusion, labels="corrected"),
        "Labels as corrected",
        "Suspected labels are replaced by the suggested ones. {wrong_title} labels are off the diagonal.",
    ),
    "tau": FigureSpec(
        figures.plot_tau,
        "Noise attention",
        "How much the method trusts each label. Good: the two densities separate.",
    ),
    "features": FigureSpec(
        figures.plot_features,
        "Features of the test data",
        "t-SNE. Good: one cluster per class. Distances between clusters are not meaningful.",
    ),
    "sheet": FigureSpec(
        figures.plot_sample_sheet,
        "Samples and suspects",
        "Random training samples with their given labels; suspects are boxed.",
        wide=True,
    ),
}
COMPARISON_FIGURES: dict[str, FigureSpec] = {
    "test": FigureSpec(
        figures.plot_test_accuracy,
        "Test accuracy",
        "Good: the last epoch is the best. A line is the mean of all seeds, a band their range.",
    ),
    "memorised": FigureSpec(
        figures.plot_memorised,
        "Memorised labels",
        "Share of wrong or suspected labels that the network predicts. Good: low.",
    ),
    "final": FigureSpec(
        figures.plot_final_margins,
        "Final margins",
        "One row per experiment. Good: separate densities, {wrong} labels on the left.",
        wide=True,
    ),
}


def render_figures(
    figure_specs: Mapping[str, FigureSpec],
    source: Any,
    *,
    word: str,
    options: Mapping[str, dict[str, Any]] | None = None,
) -> list[RenderedFigure]:
    """Render the figures of a run or of several runs; unavailable figures have a reason instead of markup.

    ``word`` is "wrong" or "suspected", the adjective for doubted labels.
    """
    words, found = {"wrong": word, "wrong_title": word.capitalize()}, []
    for name, spec in figure_specs.items():
        markup, why = None, None
        title, caption = spec.title.format(**words), spec.caption.format(**words)
        try:
            ax = spec.plot(source, **(options or {}).get(name, {}))
            markup = embed(ax, name, f"{title}. {caption}")
        except NotAvailableError as problem:
            why = str(problem)
        found.append(RenderedFigure(name, title, caption, markup, why, spec.wide))
    return found


def arrange(found: Sequence[RenderedFigure]) -> list[RenderedFigure]:
    """The available figures; a figure without a neighbour in the second column spans the whole row."""
    available = [figure for figure in found if figure.markup is not None]
    column, arranged = 0, []
    for figure, after in zip_longest(available, available[1:]):
        alone = not figure.wide and column == 0 and (after is None or after.wide)
        column = 0 if figure.wide else 1 - column
        arranged.append(replace(figure, alone=alone))
    return arranged
