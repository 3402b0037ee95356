"""Infer the role of a column of a table, and convert its cells to numbers or text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .cells import as_text, date_format, dates, decimal_mark, number, truth, without_missing

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

MAX_CATEGORIES = 40
"""A column with more different values is encoded as text."""
FREE_TEXT_WORDS = 4
"""Mean number of words from which a column of mostly different values is free text."""
DATE_PARTS = ("year", "month", "day", "weekday", "second of the day", "seconds")


@dataclass(frozen=True)
class Column:
    """Name and role of a column: "number", "boolean", "date", "duration", "category", "text" or "empty".

    ``form`` is the decimal mark of numbers stored as text, or the format of dates stored as text; "" if the
    column has a numeric or date type.
    """

    name: str
    role: str
    form: str = ""

    def parts(self) -> tuple[str, ...]:
        """Names of the numbers that encode this column."""
        if self.role == "date":
            return tuple(f"{self.name}: {part}" for part in DATE_PARTS)
        return (self.name,)

    def numbers(self, series: pd.Series[Any]) -> NDArray[np.float64]:
        """Cells as numbers (n, parts), NaN for missing and invalid values."""
        match self.role:
            case "date":
                return _date_numbers(_as_dates(series, self.form))
            case "duration":
                return _durations(series)[:, None]
            case "boolean" if series.dtype.kind not in "biuf":
                return np.array([truth(text) for text in texts_of(series)], np.float64)[:, None]
            case _:
                return _as_numbers(series, self.form)[:, None]


def infer_column(name: str, series: pd.Series[Any]) -> Column:
    """The role of a column, inferred from its type and, for text, from its values.

    Example:
        >>> import pandas as pd
        >>> infer_column("price", pd.Series(["1,50", "2,25", None]))
        Column(name='price', role='number', form=',')
    """
    import pandas as pd  # type: ignore[import-untyped]

    dtype = series.dtype
    if bool(series.isna().all()):
        return Column(name, "empty")
    if isinstance(dtype, pd.CategoricalDtype):
        return _text_column(name, texts_of(series))
    if pd.api.types.is_bool_dtype(dtype):
        return Column(name, "boolean")
    if pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return Column(name, "date")
    if pd.api.types.is_timedelta64_dtype(dtype):
        return Column(name, "duration")
    if pd.api.types.is_complex_dtype(dtype):
        raise TypeError(f"column {name!r} has complex numbers: pass real and imaginary parts as two columns")
    if pd.api.types.is_numeric_dtype(dtype):
        return Column(name, "number", ".")
    return _from_text(name, texts_of(series))


def _from_text(name: str, texts: list[str | None]) -> Column:
    values = without_missing(texts)
    if values and all(value.lower() in ("true", "false") for value in values):
        return Column(name, "boolean")
    if (mark := decimal_mark(values)) is not None:
        return Column(name, "number", mark)
    if (form := date_format(values)) is not None:
        return Column(name, "date", form)
    return _text_column(name, texts)


def _text_column(name: str, texts: list[str | None]) -> Column:
    values = [text for text in texts if text is not None and text.strip()]
    if not values:
        return Column(name, "empty")
    different = len(set(values))
    words = float(np.mean([len(value.split()) for value in values]))
    free = words >= FREE_TEXT_WORDS and different > len(values) / 2
    return Column(name, "text" if free or different > MAX_CATEGORIES else "category")


def texts_of(series: pd.Series[Any]) -> list[str | None]:
    """Cells as text, None for missing values."""
    return as_text(series.astype(object).to_numpy())


def _as_numbers(series: pd.Series[Any], mark: str) -> NDArray[np.float64]:
    import pandas as pd  # type: ignore[import-untyped]

    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.to_numpy(np.float64, na_value=np.nan)
    else:
        values = np.array([number(text, mark or ".") for text in texts_of(series)], np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _as_dates(series: pd.Series[Any], form: str) -> pd.Series[Any]:
    import pandas as pd  # type: ignore[import-untyped]

    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return pd.to_datetime(series, utc=True)
    return dates(texts_of(series), form or "ISO8601")


def _date_numbers(moments: pd.Series[Any]) -> NDArray[np.float64]:
    time = moments.dt
    second = time.hour * 3600 + time.minute * 60 + time.second
    stamps = time.tz_localize(None).to_numpy().astype("datetime64[ms]")
    elapsed = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1000)
    parts = [time.year, time.month, time.day, time.day_of_week, second]
    return np.column_stack([*(part.to_numpy(np.float64, na_value=np.nan) for part in parts), elapsed])


def _durations(series: pd.Series[Any]) -> NDArray[np.float64]:
    import pandas as pd  # type: ignore[import-untyped]

    lengths = pd.to_timedelta(series, errors="coerce")
    return np.asarray(lengths.dt.total_seconds().to_numpy(np.float64, na_value=np.nan))
