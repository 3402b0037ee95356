"""Encode a table as numbers, every column by its role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .cells import MIN_SHARE, without_missing
from .columns import Column, infer_column, texts_of
from .ids import MAX_RANGE_FACTOR, why_numbers_are_id, why_texts_are_id
from .number_block import NumberBlock
from .text_block import TextBlock

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

TEXT_IN_TABLE = 30
"""Largest number of components of a text column in a table with other columns."""
NUMERIC = frozenset({"number", "boolean", "date", "duration"})
CONSTANT, EMPTY = "the same value in every row", "no values"


class TableEncoder:
    """Encode the columns of a DataFrame as one matrix: numbers, then categories, then texts.

    ``categories`` holds the values of each one-hot encoded column, None for missing values.
    """

    def __init__(
        self,
        columns: list[Column],
        left_out: dict[str, str],
        used: NDArray[Any],
        numbers: NumberBlock,
        categories: dict[str, list[str | None]],
        texts: dict[str, TextBlock],
    ) -> None:
        self.columns, self.left_out, self.used = columns, left_out, used
        self.numbers, self.categories, self.texts = numbers, categories, texts

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        *,
        dimensions: int,
        seed: int,
        drop_ids: bool,
        text: bool,
        embedding: str | None = None,
    ) -> TableEncoder:
        """Fit to training rows; ``text`` treats the only column as free text."""
        only_text: tuple[list[Column], dict[str, str]] = ([Column(str(frame.columns[0]), "text")], {})
        columns, left_out = only_text if text else _chosen(frame, drop_ids=drop_ids)
        values = _numbers(columns, frame)
        used = np.array([not _constant(part) for part in values.T], bool)
        if len(columns) == 1 or not used.any():
            used[:] = True
        categories = {c.name: _categories(texts_of(frame[c.name])) for c in columns if c.role == "category"}
        max_dimensions = (
            dimensions if [c.role for c in columns] == ["text"] else min(dimensions, TEXT_IN_TABLE)
        )
        texts = {
            c.name: TextBlock.fit(_filled(frame[c.name]), max_dimensions, seed, embedding)
            for c in columns
            if c.role == "text"
        }
        last = [part == c.parts()[-1] for c in columns if c.role in NUMERIC for part in c.parts()]
        numbers = NumberBlock.fit(values[:, used], marked=np.array(last, bool)[used])
        return cls(columns, left_out, used, numbers, categories, texts)

    @property
    def kind(self) -> str:
        roles = {column.role for column in self.columns}
        if roles == {"text"} and len(self.columns) == 1:
            return "text"
        return "numbers" if roles <= {"number", "boolean"} else "table"

    @property
    def names(self) -> list[str]:
        parts = [part for column in self.columns if column.role in NUMERIC for part in column.parts()]
        names = self.numbers.names([part for part, used in zip(parts, self.used, strict=True) if used])
        for name, values in self.categories.items():
            names += [f"{name} is missing" if value is None else f"{name}={value}" for value in values]
        return [*names, *(part for name, block in self.texts.items() for part in block.names(name))]

    def scaled(self, frame: pd.DataFrame) -> NDArray[Any]:
        values = _numbers(self.columns, frame)[:, self.used]
        return np.hstack([self.numbers.scaled(values), *self._rest(frame)])

    def unscaled(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Numbers without standardisation, NaN if missing."""
        values = _numbers(self.columns, frame)[:, self.used]
        return np.hstack([self.numbers.unscaled(values), *self._rest(frame)])

    def _rest(self, frame: pd.DataFrame) -> list[NDArray[Any]]:
        hot = [_one_hot(texts_of(frame[name]), values) for name, values in self.categories.items()]
        return [*hot, *(block.scaled(_filled(frame[name])) for name, block in self.texts.items())]

    def unreadable(self, frame: pd.DataFrame) -> list[str]:
        """Columns most of whose values are not of the kind they had in training, with an example each."""
        found = []
        for column in (one for one in self.columns if one.role in NUMERIC):
            series = frame[column.name]
            if (example := unread_example(series, column.numbers(series)[:, 0])) is not None:
                found.append(f"{column.name!r} (a {column.role} in training, now {example!r:.40})")
        return found

    def sparse(self, frame: pd.DataFrame) -> csr_matrix | None:
        """TF-IDF matrix if the table is one column of text, else None."""
        if self.kind != "text":
            return None
        ((name, block),) = self.texts.items()
        return block.sparse(_filled(frame[name]))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {f"numbers.{name}": array for name, array in self.numbers.arrays().items()}
        texts = []
        for at, block in enumerate(self.texts.values()):
            facts, more = block.state()
            texts.append(facts)
            arrays |= {f"text{at}.{name}": array for name, array in more.items()}
        return {
            "columns": [[column.name, column.role, column.form] for column in self.columns],
            "left_out": self.left_out,
            "categories": list(self.categories.values()),
            "texts": texts,
        }, {"used": self.used, **arrays}

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TableEncoder:
        columns = [Column(*map(str, column)) for column in facts["columns"]]
        hot = [column.name for column in columns if column.role == "category"]
        text = [column.name for column in columns if column.role == "text"]
        blocks = [
            TextBlock.from_state(block, part_of(arrays, f"text{at}"))
            for at, block in enumerate(facts["texts"])
        ]
        return cls(
            columns,
            dict(facts["left_out"]),
            np.asarray(arrays["used"], bool),
            NumberBlock(**part_of(arrays, "numbers")),
            dict(zip(hot, facts["categories"], strict=True)),
            dict(zip(text, blocks, strict=True)),
        )


def unread_example(series: pd.Series[Any], numbers: NDArray[np.float64]) -> str | None:
    """The first cell without a number, unless almost all cells have one or are missing."""
    if series.dtype.kind in "biufmM":
        return None
    texts, unread = texts_of(series), np.isnan(numbers)
    invalid = without_missing([text for text, is_one in zip(texts, unread, strict=True) if is_one])
    return invalid[0] if len(invalid) > (1 - MIN_SHARE) * len(without_missing(texts)) else None


def part_of(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names start with ``prefix`` and a dot, which are removed from the names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _chosen(frame: pd.DataFrame, *, drop_ids: bool) -> tuple[list[Column], dict[str, str]]:
    """Columns to use, and the reasons for leaving out others; ids are used if there are no other columns."""
    columns = [infer_column(str(name), frame[name]) for name in frame.columns]
    rows = _without_repeats(frame)
    reasons = {column.name: _why_not(column, rows[column.name], drop_ids=drop_ids) for column in columns}
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(left_out) == len(columns):
        left_out = {name: reason for name, reason in left_out.items() if reason == EMPTY}
    if len(left_out) == len(columns):
        raise ValueError("all columns of X are empty: at least one must have values")
    return [column for column in columns if column.name not in left_out], left_out


def _without_repeats(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without repeated rows, in which an id is unique; unchanged if they are more than a third."""
    try:
        rows = frame.drop_duplicates()
    except (TypeError, NotImplementedError):  # lists and dicts in cells, also of pyarrow
        return frame
    return rows if MAX_RANGE_FACTOR * len(rows) >= len(frame) else frame


def _why_not(column: Column, series: pd.Series[Any], *, drop_ids: bool) -> str | None:
    if column.role == "empty":
        return EMPTY
    if len(series) < 2:
        return None
    if column.role in NUMERIC:
        values = column.numbers(series)
        if all(_constant(part) for part in values.T):
            return CONSTANT
        return why_numbers_are_id(column.name, values[:, 0]) if drop_ids and column.role == "number" else None
    texts = texts_of(series)
    if len(set(texts)) == 1:
        return CONSTANT
    return why_texts_are_id(column.name, texts) if drop_ids else None


def _constant(values: NDArray[np.float64]) -> bool:
    missing = np.isnan(values)
    return bool(missing.all() or (not missing.any() and (values == values[0]).all()))


def _numbers(columns: list[Column], frame: pd.DataFrame) -> NDArray[np.float64]:
    blocks = [column.numbers(frame[column.name]) for column in columns if column.role in NUMERIC]
    return np.hstack([np.empty((len(frame), 0)), *blocks])


def _filled(series: pd.Series[Any]) -> list[str]:
    return [text or "" for text in texts_of(series)]


def _categories(texts: list[str | None]) -> list[str | None]:
    values: list[str | None] = [*sorted({text for text in texts if text is not None})]
    return [*values, None] if None in texts else values


def _one_hot(texts: list[str | None], values: list[str | None]) -> NDArray[np.float32]:
    position_of = {value: at for at, value in enumerate(values)}
    found = np.array([position_of.get(text, -1) for text in texts], np.int64)
    block = np.zeros((len(texts), len(values)), np.float32)
    known = np.flatnonzero(found >= 0)
    block[known, found[known]] = 1
    return block
