"""The columns of a table that best distinguish two classes, and typical values of each class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.text import one_line

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

MAX_ROWS = 2000
"""Maximum number of rows of a class from which typical values are estimated."""
MAX_COLUMNS = 40
MAX_SHORT_LENGTH = 60
"""Maximum length of a short value; a longer value is shown as a text."""
MAX_TEXT_LENGTH = 20_000
MIN_VALUE_COUNT = 3
"""A value of fewer samples, such as an identifier, is not used to distinguish classes."""
BRIEF = 6
"""Columns in the short form of a related sample."""
SMOOTH = 0.5
"""Pseudo-count that is added to every count."""


@dataclass(frozen=True)
class Cell:
    """A value of a row, and the typical values of its column in the given and the suggested class."""

    name: str
    value: str
    usual_given: str
    usual_suggested: str
    weight: float
    """How much more typical the value is of the suggested class, in standard deviations or log odds."""


class Columns:
    """The rows of a table, by sample number, and the trusted samples of each class."""

    def __init__(self, table: pd.DataFrame, trusted: dict[int, list[int]]) -> None:
        self.table = table
        self.trusted = trusted
        self._usual: dict[int, dict[str, Any]] = {}
        numeric = table.select_dtypes("number")
        with np.errstate(all="ignore"):
            spread = numeric.std(ddof=0).to_dict()
        self.spread = {name: value if value and value == value else 1.0 for name, value in spread.items()}

    def texts(self, number: int) -> list[tuple[str, str]]:
        """Names and values of the columns of long text, with line breaks."""
        row = self.table.loc[number]
        return [(one_line(name, 80), _lines(value)) for name, value in row.items() if _is_long(value)]

    def cells(self, number: int, given: int, suggested: int) -> tuple[list[Cell], int]:
        """Short values of a row, the most distinctive first, and the number of all short values."""
        ours, theirs = self._usual_in(given), self._usual_in(suggested)
        weights = self._weights(number, given, suggested)
        found = [
            Cell(
                one_line(name, 80),
                _text(self.table.at[number, name]),
                _usual_text(ours.get(name)),
                _usual_text(theirs.get(name)),
                weight,
            )
            for name, weight in list(weights.items())[:MAX_COLUMNS]
        ]
        return found, len(weights)

    def brief(self, number: int, reviewed: int, given: int, suggested: int) -> str:
        """A sample in a line: its texts, or the most distinctive columns of the sample ``reviewed``."""
        texts = [text for _, text in self.texts(number)]
        names = list(self._weights(reviewed, given, suggested))[:BRIEF]
        cells = [f"{name} {_text(self.table.at[number, name]) or '-'}" for name in names]
        return " · ".join(texts or cells)

    def _weights(self, number: int, given: int, suggested: int) -> dict[str, float]:
        """Weights of the columns of short values, in descending order."""
        ours, theirs = self._usual_in(given), self._usual_in(suggested)
        found = {
            name: self._weight(name, value, ours.get(name), theirs.get(name))
            for name, value in self.table.loc[number].items()
            if not _is_long(value)
        }
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def _usual_in(self, label: int) -> dict[str, Any]:
        """Median of numbers and counts of anything else, by column."""
        if label not in self._usual:
            rows = self.table.loc[self.trusted.get(label, [])[:MAX_ROWS]]
            self._usual[label] = {
                name: float(rows[name].median()) if name in self.spread else Counter(rows[name].astype(str))
                for name in (self.table.columns if len(rows) else ())
            }
        return self._usual[label]

    def _weight(self, name: str, value: Any, ours: Any, theirs: Any) -> float:
        if ours is None or theirs is None:
            return 0.0
        if isinstance(ours, Counter):
            if ours[str(value)] + theirs[str(value)] < MIN_VALUE_COUNT:
                return 0.0
            return float(np.log(_share(theirs, str(value)) / _share(ours, str(value))))
        weight = (abs(value - ours) - abs(value - theirs)) / self.spread[name]
        return float(weight) if np.isfinite(weight) else 0.0


def _is_long(value: object) -> bool:
    return isinstance(value, str) and (len(value) > MAX_SHORT_LENGTH or "\n" in value)


def _share(counts: Counter[str], value: str) -> float:
    return (counts[value] + SMOOTH) / (counts.total() + SMOOTH * (len(counts) + 1))


def _usual_text(usual: Any) -> str:
    if usual is None:
        return ""
    if isinstance(usual, Counter):
        value, count = usual.most_common(1)[0]
        return one_line(value, MAX_SHORT_LENGTH) if count > 1 else ""
    return _text(usual)


def _text(value: Any) -> str:
    """
    >>> _text(3.0), _text(0.123456), _text("a  b"), _text(float("nan"))
    ('3', '0.1235', 'a b', '')
    """
    if isinstance(value, (float, np.floating)):
        return "" if value != value else f"{float(value):.4g}"
    return one_line(value, MAX_SHORT_LENGTH)


def _lines(text: str) -> str:
    """Text without control characters except line breaks."""
    kept = "\n".join(one_line(line, MAX_TEXT_LENGTH) for line in text[:MAX_TEXT_LENGTH].splitlines())
    return kept + ("\n…" if len(text) > MAX_TEXT_LENGTH else "")
