"""Parse cells of a column as numbers, truth values or dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

NO_VALUE = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", ".", "missing"})
"""Text that means a missing value among numbers, dates and truth values."""
MIN_SHARE = 0.9
"""Share of the values that must be numbers or dates; all other values count as missing."""
GROUPS = {".": ",", ",": "."}
_EXPONENT = r"(?:[eE][+-]?\d+)?"
NUMBER = {
    mark: re.compile(
        rf"[+-]?(?:(?:\d{{1,3}}(?:[{re.escape(group)}' ]\d{{3}})+|\d+)(?:{re.escape(mark)}\d*)?"
        rf"|{re.escape(mark)}\d+){_EXPONENT}"
    )
    for mark, group in GROUPS.items()
}
"""Patterns of numbers with a decimal point, and with a decimal comma."""
CODE = re.compile(r"[+-]?0\d+")
"""A number with leading zeros, such as 01234, which is an identifier."""
SIGNS = str.maketrans({"\u2212": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})
UNITS = re.compile(r"^[€$£¥]\s*|\s*[€$£¥%]$")
DAYS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
DATE_FORMATS = ("ISO8601", *(day + time for day in DAYS for time in TIMES), "%H:%M:%S", "%H:%M")
DATE = re.compile(r"\d{1,4}[-/.]\d|\d{1,2}[- ][A-Za-z]{3}|[A-Za-z]{3,9} \d{1,2},|\d{1,2}:\d\d")
SAMPLE = 200
"""Number of values that are tried before the whole column."""


def as_text(values: NDArray[Any]) -> list[str | None]:
    """Cells as text, None for missing values; integral floats are formatted as integers.

    Example:
        >>> import numpy as np
        >>> as_text(np.array(["a", 1.0, None, float("nan"), True], object))
        ['a', '1', None, None, 'True']
    """
    return [_cell(value) for value in values.tolist()]


def _cell(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):  # a list in a cell of Parquet
        return str(value.tolist())
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def without_missing(texts: list[str | None]) -> list[str]:
    """The texts that are not missing values, stripped."""
    stripped = (text.strip() for text in texts if text is not None)
    return [text for text in stripped if text.lower() not in NO_VALUE]


def _plain(text: str) -> str:
    return UNITS.sub("", text.translate(SIGNS).strip())


def decimal_mark(texts: list[str]) -> str | None:
    """The decimal mark with which (almost) all texts are numbers; None if there is none.

    Example:
        >>> decimal_mark(["1.5", "1,000"]), decimal_mark(["1,5", "1.000,25"]), decimal_mark(["a", "1"])
        ('.', ',', None)
        >>> decimal_mark(["01234", "00001"]) is None
        True
    """
    plain = [_plain(text) for text in texts]
    if not plain or any(CODE.fullmatch(text) for text in plain):
        return None
    for sample in (plain[:SAMPLE], plain):
        counts = {mark: sum(bool(form.fullmatch(text)) for text in sample) for mark, form in NUMBER.items()}
        best = max(counts, key=counts.__getitem__)
        if counts[best] < MIN_SHARE * len(sample):
            return None
    return best


def number(text: str | None, mark: str) -> float:
    """The number in a text, or NaN.

    Example:
        >>> number("1.234,5", ","), number("$ 1,234.5", "."), number("12 %", "."), number("n/a", ".")
        (1234.5, 1234.5, 12.0, nan)
    """
    plain = "" if text is None else _plain(text)
    if not NUMBER[mark].fullmatch(plain):
        return float("nan")
    return float(plain.replace(GROUPS[mark], "").replace("'", "").replace(" ", "").replace(mark, "."))


def date_format(texts: list[str]) -> str | None:
    """The ``strptime`` format that parses (almost) all texts; None if there is none.

    Example:
        >>> date_format(["2024-01-31", "2024-02-01"]), date_format(["31.01.2024"]), date_format(["Monday"])
        ('ISO8601', '%d.%m.%Y', None)
    """
    sample = texts[:SAMPLE]
    if not sample or sum(bool(DATE.match(text)) for text in sample) < MIN_SHARE * len(sample):
        return None
    shares = {form: _parsed_share(sample, form) for form in DATE_FORMATS}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= MIN_SHARE and _parsed_share(texts, best) >= MIN_SHARE else None


def _parsed_share(texts: list[str], form: str) -> float:
    return float(dates(texts, form).notna().mean())


def dates(texts: list[str | None] | list[str], form: str) -> pd.Series[Any]:
    """Dates in UTC; NaT for texts that do not have this format."""
    import pandas as pd  # type: ignore[import-untyped]

    return pd.to_datetime(pd.Series(texts, dtype=object), format=form, errors="coerce", utc=True)


def truth(text: str | None) -> float:
    """1 for true, 0 for false, NaN otherwise."""
    return {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}.get((text or "").strip().lower(), float("nan"))
