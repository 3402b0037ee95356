"""Write a corrected .csv or .tsv file; unchanged rows are copied byte for byte."""

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
from .output_file import replacing
from .records import Row, column_number, long_fields, records, with_field

COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
}
"""By suffix; tables compressed in another way are written without compression."""


def write_text_table(
    source: Path,
    target: Path,
    dropped: Path | None,
    label: str,
    edit: Edit,
    names: tuple[str, ...],
    expected: Mapping[int, str],
) -> list[tuple[int, str, str | None]]:
    """Write the corrected table and the dropped rows; returns (row, before, after).

    Args:
        expected: class name of each row when the data were loaded; ValueError if the file differs.
    """
    separator = str(separator_of(source))
    changes: list[tuple[int, str, str | None]] = []
    with long_fields(source):
        texts = _texts(source, separator, label, expected)
        with open_packed(source) as file, written(target) as out, written(dropped) as gone:
            rows = records(file, separator)
            header = next(rows)
            column = column_number(header.fields, label, source)
            for one in (out, gone):
                one.write(header.raw)
            for number, row in enumerate(rows):
                if number in edit.drop:
                    changes.append((number, row.fields[column], None))
                    gone.write(row.raw)
                elif number in edit.relabel:
                    name = names[edit.relabel[number]]
                    new = texts.get(name, name)
                    changes.append((number, row.fields[column], new))
                    out.write(with_field(row, column, new, separator))
                else:
                    out.write(row.raw)
    return changes


def restore_text_table(
    corrected: Path, dropped: Path | None, target: Path, label: str, before: Mapping[int, str | None]
) -> None:
    """Restore the original; ``before`` holds the old label of each changed row, None if it was dropped."""
    separator = str(separator_of(corrected))
    with long_fields(corrected), open_packed(corrected) as file, written(target) as out:
        rows = records(file, separator)
        header = next(rows)
        column = column_number(header.fields, label, corrected)
        out.write(header.raw)
        gone, number = _dropped_rows(dropped, separator), 0
        for row in rows:
            while row.fields and before.get(number, "") is None:
                out.write(next(gone).raw)
                number += 1
            old = before.get(number)
            out.write(row.raw if old is None or not row.fields else with_field(row, column, old, separator))
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
    """The text of each class in the file; ValueError if a row has another label than expected."""
    found: dict[str, str] = {}
    with open_packed(source) as file:
        rows = records(file, separator)
        column = column_number(next(rows).fields, label, source)
        count = 0
        for number, row in enumerate(rows):
            name, actual = expected.get(number), row.fields[column : column + 1]
            if name is None:
                continue
            if not actual or not _is_same(actual[0], name):
                raise ValueError(f"{source}, row {number}: expected the label {name!r}, found {actual}")
            found.setdefault(name, actual[0])
            count += 1
    if count != len(expected):
        raise ValueError(f"{source} has changed: it has {count} of {len(expected)} expected rows")
    return found


def _is_same(text: str, name: str) -> bool:
    """
    >>> _is_same("07", "7"), _is_same("TRUE", "True"), _is_same("True", "1"), _is_same("a", "b")
    (True, True, True, False)
    """
    if text == name:
        return True
    truths = {"true": "1", "false": "0"}
    try:
        return float(truths.get(text.strip().lower(), text)) == float(truths.get(name.lower(), name))
    except ValueError:
        return False


@contextmanager
def written(path: Path | None) -> Iterator[IO[str]]:
    """An open text file, compressed by its suffix, that replaces ``path`` on success; None discards it."""
    if path is None:
        yield io.StringIO()
        return
    with replacing(path) as file:
        compress = COMPRESSORS.get(path.suffix.lower())
        compressed = compress(file) if compress else file
        text = io.TextIOWrapper(compressed, "utf-8", newline="", write_through=True)
        yield text
        text.detach()
        if compress:
            compressed.close()
