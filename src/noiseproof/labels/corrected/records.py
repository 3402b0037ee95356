"""Records of a text table with the text they were read from, so that one field can be changed alone."""

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
    """Fields of a record, its text, and where in the text it begins, after blank lines."""

    fields: list[str]
    raw: str
    begin: int


def records(file: IO[bytes], separator: str) -> Iterator[Row]:
    """The records of an open table; blank lines go with the record after them.

    Blank lines at the end come as a last row without fields.
    """
    raw: list[str] = []
    begin = 0
    with io.TextIOWrapper(file, "utf-8", newline="") as text:
        for fields in csv.reader(_kept(text, raw), delimiter=separator):
            if len(fields) <= 1 and not "".join(fields).strip():
                begin = sum(map(len, raw))
                continue
            yield Row(fields, "".join(raw), begin)
            raw.clear()
            begin = 0
    if raw:
        yield Row([], "".join(raw), 0)


def _kept(lines: Iterable[str], raw: list[str]) -> Iterator[str]:
    """The lines, each put into ``raw`` when it is read."""
    for line in lines:
        raw.append(line)
        yield line


def column_place(header: list[str], name: str, path: Path) -> int:
    """Place of a column in the header."""
    names = [field.removeprefix(BOM) if place == 0 else field for place, field in enumerate(header)]
    if name not in names:
        raise ValueError(f"{path} has no column {name!r} in its header")
    return names.index(name)


def with_field(row: Row, place: int, new: str, separator: str) -> str:
    """The text of a record with another value in one field, in quotes if it was or needs them.

    >>> with_field(Row(["1", "cat", "x y"], '1,"cat",x y', 0), 1, "dog", ",")
    '1,"dog",x y'
    >>> with_field(Row(["1", "cat"], "1,cat", 0), 1, "a,b", ",")
    '1,"a,b"'
    """
    begin, end = _span(row, place, separator)
    must = any(sign in new for sign in (separator, '"', "\n", "\r"))
    quoted = '"' + new.replace('"', '""') + '"'
    return row.raw[:begin] + (quoted if must or row.raw[begin] == '"' else new) + row.raw[end:]


def _span(row: Row, place: int, separator: str) -> tuple[int, int]:
    """Where a field begins and ends in the text."""
    text, at = row.raw, row.begin
    for number in range(place + 1):
        begin = at
        if text[at : at + 1] == '"':
            at += 1
            while at < len(text) and (text[at] != '"' or text[at + 1 : at + 2] == '"'):
                at += 2 if text[at] == '"' else 1
            at += 1
        while at < len(text) and text[at] not in (separator, "\n", "\r"):
            at += 1
        if number < place:
            at += 1
    return begin, at


@contextmanager
def long_fields(path: Path) -> Iterator[None]:
    """Fields of any length inside, and what cannot be read as a ValueError."""
    before = csv.field_size_limit(min(sys.maxsize, (1 << 31) - 1))
    try:
        yield
    except (csv.Error, UnicodeError) as problem:
        raise ValueError(f"cannot read the table {path}: {problem}") from None
    finally:
        csv.field_size_limit(before)
