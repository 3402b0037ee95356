"""Write a corrected .parquet file; the order, names, types and metadata of its columns are not changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .edit import Edit
from .output_file import replacing


def write_parquet_table(
    source: Path,
    target: Path,
    dropped: Path | None,
    label: str,
    edit: Edit,
    names: tuple[str, ...],
    expected: Mapping[int, str],
) -> list[tuple[int, str, str | None]]:
    """Write the corrected table and the dropped rows; returns (row, before, after)."""
    import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped]

    table = parquet.read_table(source)
    old = table.column(label).to_pylist()
    values: dict[str, Any] = {}
    for row, name in expected.items():
        values.setdefault(name, old[row])
    new, changes = list(old), []
    for row in sorted(edit.drop | edit.relabel.keys()):
        after = None
        if row not in edit.drop:
            name = names[edit.relabel[row]]
            after = new[row] = values[name] if name in values else type(old[row])(name)
        changes.append((row, str(old[row]), None if after is None else str(after)))
    changed = _with_column(table, label, new)
    kept = [row for row in range(len(old)) if row not in edit.drop]
    _write(changed.take(kept) if edit.drop else changed, target, source)
    if dropped is not None:
        _write(table.take(sorted(edit.drop)), dropped, source)
    return changes


def restore_parquet_table(
    corrected: Path, dropped: Path | None, target: Path, label: str, before: Mapping[int, str | None]
) -> None:
    """Restore the original; ``before`` holds the old label of each changed row, None if it was dropped."""
    import pyarrow as arrow  # type: ignore[import-not-found, import-untyped]
    import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped]

    kept = parquet.read_table(corrected)
    dropped_rows = None if dropped is None else parquet.read_table(dropped)
    total = len(kept) + (0 if dropped_rows is None else len(dropped_rows))
    kept_first = sorted(range(total), key=lambda row: before.get(row, "") is None)
    whole = kept if dropped_rows is None else arrow.concat_tables([kept, dropped_rows])
    order = sorted(range(total), key=kept_first.__getitem__)
    whole = whole.take(order)
    values = whole.column(label).to_pylist()
    for row, old in before.items():
        if old is not None:
            values[row] = _as_type(old, type(values[row]))
    _write(_with_column(whole, label, values), target, corrected)


def _as_type(text: str, kind: type) -> Any:
    """
    >>> _as_type("False", bool), _as_type("3", int), _as_type("cat", str)
    (False, 3, 'cat')
    """
    return text == "True" if kind is bool else kind(text)


def _with_column(table: Any, label: str, values: list[Any]) -> Any:
    import pyarrow as arrow  # type: ignore[import-not-found, import-untyped]

    number = table.schema.get_field_index(label)
    field = table.schema.field(number)
    return table.set_column(number, field, arrow.array(values, type=field.type))


def _write(table: Any, target: Path, like: Path) -> None:
    """Write with the row groups and the compression of the file ``like``."""
    import pyarrow.parquet as parquet  # type: ignore[import-not-found, import-untyped]

    metadata = parquet.read_metadata(like)
    group = metadata.row_group(0) if metadata.num_row_groups else None
    compression = group.column(0).compression if group is not None and group.num_columns else "SNAPPY"
    with replacing(target) as file:
        parquet.write_table(
            table,
            file,
            compression="NONE" if compression == "UNCOMPRESSED" else compression,
            row_group_size=max(1, group.num_rows) if group is not None else None,
        )
