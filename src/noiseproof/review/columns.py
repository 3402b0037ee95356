"""Which columns of a row distinguish two classes, and which values are usual in both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..report.wording import shown

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

MOST_ROWS = 2000
"""Of a class, from which what is usual is estimated."""
MOST_COLUMNS = 40
LONG = 60
"""Characters from which a value is a text and shown as one."""
LONGEST_TEXT = 20_000
SEEN = 3
"""A value that fewer samples have, such as an identifier, does not distinguish classes."""
BRIEF = 6
"""Columns of a sample that stands beside the one looked at."""
SMOOTH = 0.5
"""Added to every count, so that a value without examples is rare and not impossible."""


@dataclass(frozen=True)
class Cell:
    """One column of a row: its value, and what is usual in the given and in the suggested class."""

    name: str
    value: str
    usual_given: str
    usual_suggested: str
    weight: float
    """How far the value is more usual in the suggested class, in standard deviations or log odds."""


class Columns:
    """The rows of a table, by the number of the sample, and samples of each class that can be trusted."""

    def __init__(self, table: pd.DataFrame, trusted: dict[int, list[int]]) -> None:
        self.table = table
        self.trusted = trusted
        self._usual: dict[int, dict[str, Any]] = {}
        numeric = table.select_dtypes("number")
        with np.errstate(all="ignore"):
            spread = numeric.std(ddof=0).to_dict()
        self.spread = {name: value if value and value == value else 1.0 for name, value in spread.items()}

    def texts(self, number: int) -> list[tuple[str, str]]:
        """Long values of a row, with their line breaks."""
        row = self.table.loc[number]
        return [(shown(name, 80), _lines(value)) for name, value in row.items() if _is_long(value)]

    def cells(self, number: int, given: int, suggested: int) -> tuple[list[Cell], int]:
        """Short values of a row, those that distinguish the two classes first; and how many there are."""
        ours, theirs = self._usual_in(given), self._usual_in(suggested)
        weights = self._weights(number, given, suggested)
        found = [
            Cell(
                shown(name, 80),
                _text(self.table.at[number, name]),
                _usual_text(ours.get(name)),
                _usual_text(theirs.get(name)),
                weight,
            )
            for name, weight in list(weights.items())[:MOST_COLUMNS]
        ]
        return found, len(weights)

    def brief(self, number: int, beside: int, given: int, suggested: int) -> str:
        """A sample in a line: its texts, or the columns that come first for the one ``beside``."""
        texts = [text for _, text in self.texts(number)]
        names = list(self._weights(beside, given, suggested))[:BRIEF]
        cells = [f"{name} {_text(self.table.at[number, name]) or '-'}" for name in names]
        return " · ".join(texts or cells)

    def _weights(self, number: int, given: int, suggested: int) -> dict[str, float]:
        """The columns of short values, those that speak for the suggested class first."""
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
            rows = self.table.loc[self.trusted.get(label, [])[:MOST_ROWS]]
            self._usual[label] = {
                name: float(rows[name].median()) if name in self.spread else Counter(rows[name].astype(str))
                for name in (self.table.columns if len(rows) else ())
            }
        return self._usual[label]

    def _weight(self, name: str, value: Any, ours: Any, theirs: Any) -> float:
        if ours is None or theirs is None:
            return 0.0
        if isinstance(ours, Counter):
            if ours[str(value)] + theirs[str(value)] < SEEN:
                return 0.0
            return float(np.log(_share(theirs, str(value)) / _share(ours, str(value))))
        weight = (abs(value - ours) - abs(value - theirs)) / self.spread[name]
        return float(weight) if np.isfinite(weight) else 0.0


def _is_long(value: object) -> bool:
    return isinstance(value, str) and (len(value) > LONG or "\n" in value)


def _share(counts: Counter[str], value: str) -> float:
    return (counts[value] + SMOOTH) / (counts.total() + SMOOTH * (len(counts) + 1))


def _usual_text(usual: Any) -> str:
    if usual is None:
        return ""
    if isinstance(usual, Counter):
        value, count = usual.most_common(1)[0]
        return shown(value, LONG) if count > 1 else ""
    return _text(usual)


def _text(value: Any) -> str:
    """
    >>> _text(3.0), _text(0.123456), _text("a  b"), _text(float("nan"))
    ('3', '0.1235', 'a b', '')
    """
    if isinstance(value, (float, np.floating)):
        return "" if value != value else f"{float(value):.4g}"
    return shown(value, LONG)


def _lines(text: str) -> str:
    """Text as a page shows it: line breaks and tabs stay, other control characters do not."""
    kept = "\n".join(shown(line, LONGEST_TEXT) for line in text[:LONGEST_TEXT].splitlines())
    return kept + ("\n…" if len(text) > LONGEST_TEXT else "")
