"""Detect columns that identify rows; their values are unique, so they carry no information about new rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 10
"""With fewer rows, only the name of a column can show that it is an id."""
MAX_RANGE_FACTOR = 1.5
"""Unique integers are row numbers if their range is at most this factor times the number of rows."""
NAME = re.compile(
    r"(?:.*[\W_])?(?:id|ids|uuid|guid|key|pk|index|idx|nr|no|num|number|row|rowid|hash)|id[\W_].*"
    r"|unnamed: \d+(?:\.\d+)?|",
    re.IGNORECASE,
)
CAMEL_CASE = re.compile(r".*[a-z0-9](?:Id|ID|Uuid|UUID|Key|Index|Nr|No|Number)")
HASH = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}|(?=.*\d)[0-9a-fA-F]{16,128}")


def named_like_id(name: str) -> bool:
    """Whether the name of a column is typical of an identifier.

    Example:
        >>> [named_like_id(name) for name in ("user_id", "ID", "customerId", "Unnamed: 0", "width", "paid")]
        [True, True, True, True, False, False]
    """
    return bool(NAME.fullmatch(name.strip()) or CAMEL_CASE.fullmatch(name.strip()))


def why_numbers_are_id(name: str, values: NDArray[np.float64]) -> str | None:
    """The reason to leave out a column of numbers; None if it is a feature.

    Example:
        >>> why_numbers_are_id("a", np.arange(5.0, 105.0))
        'only numbers the rows'
        >>> why_numbers_are_id("width", np.arange(100.0) ** 2) is None
        True
    """
    rows = len(values)
    if rows < 2 or not np.isfinite(values).all() or (values != np.round(values)).any():
        return None
    if len(np.unique(values)) < rows:
        return None
    if named_like_id(name):
        return "an id: a different number in every row"
    if rows >= MIN_ROWS and values.max() - values.min() < MAX_RANGE_FACTOR * rows:
        return "only numbers the rows"
    return None


def why_texts_are_id(name: str, texts: Sequence[str | None]) -> str | None:
    """The reason to leave out a column of text; None if it is a feature.

    Example:
        >>> why_texts_are_id("file", [f"img_{number:04}.png" for number in range(20)])
        'only names the rows: img_0000.png, img_0001.png, ...'
        >>> why_texts_are_id("city", ["Oslo", "Rome"]) is None
        True
    """
    values = [text for text in texts if text is not None]
    if len(values) < 2 or len(values) < len(texts) or len(set(values)) < len(values):
        return None
    if named_like_id(name) and not any(" " in value.strip() for value in values):
        return "an id: a different value in every row"
    if len(values) < MIN_ROWS:
        return None
    if all(HASH.fullmatch(value.strip()) for value in values):
        return "a hash: a different value in every row"
    if _numbered(values):
        return f"only names the rows: {values[0]}, {values[1]}, ..."
    return None


def _numbered(values: list[str]) -> bool:
    """Whether values are one word that differs only in digits, which number the rows or are zero-padded."""
    digits = [re.sub(r"\D", "", value) for value in values]
    shapes = {re.sub(r"\d+", "#", value) for value in values}
    if len(shapes) > 1 or " " in values[0].strip() or not digits[0]:
        return False
    numbers = [int(digit) for digit in digits]
    padded = len({len(digit) for digit in digits}) == 1 and len(digits[0]) >= 3
    return padded or max(numbers) - min(numbers) < MAX_RANGE_FACTOR * len(numbers)
