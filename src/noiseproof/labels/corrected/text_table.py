"""A .csv or .tsv file with other labels: a row that does not change stays as it is, byte for byte."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ...data.compressed import open_packed
from ...data.sources.table_file import separator_of
from .edit import Edit
from .place import replacing
from .records import Row, column_place, long_fields, records, with_field

PACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
}
"""Other compressed tables are written without compression."""


def write_text_table(
    source: Path,
    target: Path,
    dropped: Path | None,
    label: str,
    edit: Edit,
    names: tuple[str, ...],
    expected: Mapping[int, str],
) -> list[tuple[int, str, str | None]]:
    """Write the corrected table and the rows that were dropped; returns (row, before, after).

    Args:
        expected: name of the class of each row, as the data were read: the file must say the same.
    """
    separator = str(separator_of(source))
    changes: list[tuple[int, str, str | None]] = []
    with long_fields(source):
        texts = _texts(source, separator, label, expected)
        with open_packed(source) as file, written(target) as out, written(dropped) as gone:
            rows = records(file, separator)
            header = next(rows)
            place = column_place(header.fields, label, source)
            for one in (out, gone):
                one.write(header.raw)
            for number, row in enumerate(rows):
                if number in edit.drop:
                    changes.append((number, row.fields[place], None))
                    gone.write(row.raw)
                elif number in edit.relabel:
                    name = names[edit.relabel[number]]
                    new = texts.get(name, name)
                    changes.append((number, row.fields[place], new))
                    out.write(with_field(row, place, new, separator))
                else:
                    out.write(row.raw)
    return changes


def restore_text_table(
    corrected: Path, dropped: Path | None, target: Path, label: str, before: Mapping[int, str | None]
) -> None:
    """The table as it was; ``before`` holds the old label of each row, None of a row that was dropped."""
    separator = str(separator_of(corrected))
    with long_fields(corrected), open_packed(corrected) as file, written(target) as out:
        rows = records(file, separator)
        header = next(rows)
        place = column_place(header.fields, label, corrected)
        out.write(header.raw)
        gone, number = _dropped_rows(dropped, separator), 0
        for row in rows:
            while row.fields and before.get(number, "") is None:
                out.write(next(gone).raw)
                number += 1
            old = before.get(number)
            out.write(row.raw if old is None or not row.fields else with_field(row, place, old, separator))
            number += 1
        for row in gone:
            out.write(row.raw)


def _dropped_rows(dropped: Path | None, separator: str) -> Iterator[Row]:
    if dropped is not None:
        with open_packed(dropped) as file:
            rows = records(file, separator)
            next(rows)
            yield from rows


def _texts(source: Path, separator: str, label: str, expected: Mapping[int, str]) -> dict[str, str]:
    """How each class is written in the file; ValueError where a row is not what it was taken for."""
    found: dict[str, str] = {}
    with open_packed(source) as file:
        rows = records(file, separator)
        place = column_place(next(rows).fields, label, source)
        count = 0
        for number, row in enumerate(rows):
            name, have = expected.get(number), row.fields[place : place + 1]
            if name is None:
                continue
            if not have or not _is_same(have[0], name):
                raise ValueError(f"{source}, row {number}: expected the label {name!r}, found {have}")
            found.setdefault(name, have[0])
            count += 1
    if count != len(expected):
        raise ValueError(f"{source} has {count} of the {len(expected)} rows expected: it has changed")
    return found


def _is_same(text: str, name: str) -> bool:
    """
    >>> _is_same("07", "7"), _is_same("True", "1"), _is_same("a", "b")
    (True, True, False)
    """
    if text == name:
        return True
    try:
        return float({"true": "1", "false": "0"}.get(text.strip().lower(), text)) == float(name)
    except ValueError:
        return False


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """A text file that is there when it is whole, packed as its name says; None writes nowhere."""
    if path is None:
        yield io.StringIO()
        return
    with replacing(path) as file:
        pack = PACKERS.get(path.suffix.lower())
        packed = pack(file) if pack else file
        text = io.TextIOWrapper(packed, "utf-8", newline="", write_through=True)
        yield text
        text.detach()
        if pack:
            packed.close()
