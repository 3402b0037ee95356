"""Samples for a trained network: rows of a table need the same columns, and no labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from ..data import LabelledData, load
from ..data.registry import SOURCES
from ..data.sources.arrays import arrays
from ..data.sources.folder import folder
from ..data.sources.split import split_path
from ..data.sources.table import table
from ..data.spec import parse_source, source_text
from ..features import Features


def new_samples(spec: str, *, split: str, features: Features | None = None) -> LabelledData:
    """The data of a spec without its labels; of a table the columns that training used, in any order."""
    name, options = parse_source(spec)
    if SOURCES.get(name) is table:
        options = {word: value for word, value in options.items() if word != "clean_label"} | {"label": None}
    if SOURCES.get(name) is folder and _is_flat(split_path(name, str(options.get("path")), split)):
        options = {**options, "labelled": False}
    if SOURCES.get(name) is arrays:
        options = {word: value for word, value in options.items() if word != "labels"} | {"labelled": False}
    return load(source_text(name, options), split=split, features=features)


def _is_flat(place: Path) -> bool:
    """A folder with images but no subfolders."""
    return place.is_dir() and not any(entry.is_dir() for entry in place.iterdir())


def check_columns(trained: Sequence[str], found: Sequence[str], what: str) -> None:
    """ValueError unless both are the same or one is unknown: a value in another place means another thing.

    Example:
        >>> check_columns(["age", "height"], ["height", "age"], "the test data")
        Traceback (most recent call last):
        ValueError: the test data has columns height, age where the training data has age, height: ...
    """
    if trained and found and tuple(trained) != tuple(found):
        first = next(at for at, pair in enumerate(zip_longest(trained, found)) if len(set(pair)) > 1)
        ours, theirs = ", ".join(trained[first : first + 5]), ", ".join(found[first : first + 5])
        raise ValueError(
            f"{what} has columns {theirs or 'missing'} where the training data has {ours or 'none'}: give"
            " both tables the same columns in the same order, or choose them with features=..."
        )
