"""Which figures a page shows, in which order, and what each says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes

from . import figures
from .evidence import NothingToShow
from .markup import embed


@dataclass(frozen=True)
class Picture:
    """A figure of the catalogue."""

    plot: Callable[..., Axes]
    title: str
    caption: str
    wide: bool = False


@dataclass(frozen=True)
class Shown:
    """A figure as it stands on the page, or why it does not."""

    name: str
    title: str
    caption: str
    markup: Markup | None
    why_not: str | None
    wide: bool
    alone: bool = False
    """Whether nothing stands beside it where the page has two columns."""


RUN_PICTURES: dict[str, Picture] = {
    "margins": Picture(
        figures.plot_margin_ridges,
        "Who gets the gradient",
        "Margins of all training samples, epoch by epoch, below the emphasis curve of the loss if it has one."
        " A hill in the grey area gets gradient. Good: the hills part, and {wrong} labels stay on the"
        " left, outside it.",
        wide=True,
    ),
    "subsets": Picture(
        figures.plot_subset_accuracy,
        "Memorised or recovered",
        "Good: test accuracy ends where it was best, and few {wrong} labels are memorised.",
    ),
    "share": Picture(
        figures.plot_emphasis_share,
        "Gradient on {wrong} labels",
        "Good: below the dashed line, so that {wrong} labels get less than their share.",
    ),
    "classes": Picture(
        figures.plot_class_accuracy,
        "Accuracy by class",
        "Good: the lines stay together. One that falls away is a class being lost to noise.",
    ),
    "counts": Picture(
        figures.plot_prediction_counts,
        "Predicted classes",
        "Good: bars end at their marks, with nothing hatched.",
    ),
    "confidence": Picture(
        figures.plot_confidence,
        "Confidence on the hardest class",
        "Good: one tall bar, that of the class itself, and nothing else.",
    ),
    "scale": Picture(
        figures.plot_update_scale,
        "Average update scale",
        "How hard the loss pulls. Near zero from the beginning: it underfits. Good: right above wrong.",
    ),
    "map": Picture(
        figures.plot_data_map,
        "Data map",
        "Every point a sample. Labels that the network never fits lie at the bottom.",
    ),
    "detection": Picture(
        figures.plot_detection,
        "Finding the wrong labels",
        "Good: the thick line runs along the top. The dot is the choice made without clean labels.",
    ),
    "given": Picture(
        partial(figures.plot_confusion, labels="given"),
        "Labels as given",
        "Rows add up to 100%. On the diagonal label and truth agree.",
    ),
    "corrected": Picture(
        partial(figures.plot_confusion, labels="corrected"),
        "Labels as corrected",
        "With every suspected label replaced by the suggested one. Off the diagonal lies what is {wrong}.",
    ),
    "tau": Picture(
        figures.plot_tau,
        "Noise attention",
        "How far the method trusts each label. Good: the two hills part.",
    ),
    "features": Picture(
        figures.plot_features,
        "Features of the test data",
        "t-SNE. Good: one island per class. Distances between islands mean nothing.",
    ),
    "sheet": Picture(
        figures.plot_sample_sheet,
        "Samples and suspects",
        "Training samples drawn at random, with their given labels; suspects are boxed.",
        wide=True,
    ),
}
COMPARISON_PICTURES: dict[str, Picture] = {
    "test": Picture(
        figures.plot_test_accuracy,
        "Test accuracy",
        "Good: a line that ends where it was highest. A line is the mean of all seeds, a band their range.",
    ),
    "memorised": Picture(
        figures.plot_memorised,
        "Memorised labels",
        "Share of wrong or suspected labels that the network repeats. Good: low.",
    ),
    "final": Picture(
        figures.plot_final_margins,
        "Margins at the end",
        "One row per experiment. Good: two hills apart, {wrong} labels on the left.",
        wide=True,
    ),
}


def show(
    catalogue: Mapping[str, Picture],
    subject: Any,
    *,
    word: str,
    options: Mapping[str, dict[str, Any]] | None = None,
) -> list[Shown]:
    """Every figure that can be drawn of the subject; the others say why not.

    ``word`` is what labels are called that should not be learned: wrong, or suspected.
    """
    found = []
    for name, picture in catalogue.items():
        markup, why = None, None
        title, caption = picture.title.format(wrong=word), picture.caption.format(wrong=word)
        try:
            ax = picture.plot(subject, **(options or {}).get(name, {}))
            markup = embed(ax, name, f"{title}. {caption}")
        except NothingToShow as problem:
            why = str(problem)
        found.append(Shown(name, title, caption, markup, why, picture.wide))
    return found


def arranged(found: Sequence[Shown]) -> list[Shown]:
    """Those that could be drawn; one that would stand beside a hole takes the whole row."""
    drawn = [picture for picture in found if picture.markup is not None]
    column, placed = 0, []
    for picture, after in zip_longest(drawn, drawn[1:]):
        alone = not picture.wide and column == 0 and (after is None or after.wide)
        column = 0 if picture.wide else 1 - column
        placed.append(replace(picture, alone=alone))
    return placed
