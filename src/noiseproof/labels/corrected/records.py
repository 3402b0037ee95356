"""Records of a text table together with their text, so that a single field can be replaced."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

BOM = "\ufeff"


class Row(NamedTuple):
    """Fields of a record, its text, and the offset in the text where it begins after blank lines."""

    fields: list[str]
    raw: str
    begin: int


def records(file: IO[bytes], separator: str) -> Iterator[Row]:
    """Iterate over the records of an open table; blank lines belong to the record after them.

    Blank lines at the end form a last row without fields.
    """
    raw: list[str] = []
    begin = 0
    with io.TextIOWrapper(file, "utf-8", newline="") as text:
        for fields in csv.reader(_recording(text, raw), delimiter=separator):
            if len(fields) <= 1 and not "".join(fields).strip():
                begin = sum(map(len, raw))
                continue
            yield Row(fields, "".join(raw), begin)
            raw.clear()
            begin = 0
    if raw:
        yield Row([], "".join(raw), 0)


def _recording(lines: Iterable[str], raw: list[str]) -> Iterator[str]:
    """Iterate over the lines and append each to ``raw``."""
    for line in lines:
        raw.append(line)
        yield line


def column_number(header: list[str], name: str, path: Path) -> int:
    """Number of a column, counted from 0."""
    names = [field.removeprefix(BOM) if number == 0 else field for number, field in enumerate(header)]
    if name not in names:
        raise ValueError(f"{path} has no column {name!r} in its header")
    return names.index(name)


def with_field(row: Row, column: int, new: str, separator: str) -> str:
    """The text of a record with a new value in one column, quoted if it was quoted or has to be.

    >>> with_field(Row(["1", "cat", "x y"], '1,"cat",x y', 0), 1, "dog", ",")
    '1,"dog",x y'
    >>> with_field(Row(["1", "cat"], "1,cat", 0), 1, "a,b", ",")
    '1,"a,b"'
    """
    begin, end = _span(row, column, separator)
    needs_quotes = any(character in new for character in (separator, '"', "\n", "\r"))
    quoted = '"' + new.replace('"', '""') + '"'
    return row.raw[:begin] + (quoted if needs_quotes or row.raw[begin] == '"' else new) + row.raw[end:]


def _span(row: Row, column: int, separator: str) -> tuple[int, int]:
    """Begin and end of a field in the text."""
    text, at = row.raw, row.begin
    for number in range(column + 1):
        begin = at
        if text[at : at + 1] == '"':
            at += 1
            while at < len(text) and (text[at] != '"' or text[at + 1 : at + 2] == '"'):
                at += 2 if text[at] == '"' else 1
            at += 1
        while at < len(text) and text[at] not in (separator, "\n", "\r"):
            at += 1
        if number < column:
            at += 1
    return begin, at


@contextmanager
def long_fields(path: Path) -> Iterator[None]:
    """Allow fields of any length, and raise read errors as ValueError."""
    before = csv.field_size_limit(min(sys.maxsize, (1 << 31) - 1))
    try:
        yield
    except (csv.Error, UnicodeError) as problem:
        raise ValueError(f"cannot read the table {path}: {problem}") from None
    finally:
        csv.field_size_limit(before)
