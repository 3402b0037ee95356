"""Write corrected .npz and .npy files; other arrays are not changed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.numpy_files import open_npz, read_npz
from .edit import Edit
from .output_file import replacing

LABELS = "y_train"
PART = "_train"
"""Suffix of the names of arrays with one row per training sample."""


def write_npz(
    source: Path, target: Path, dropped: Path | None, edit: Edit, classes: NDArray[np.int64]
) -> list[tuple[int, str, str | None]]:
    """Write the corrected file and the dropped rows; returns (row, before, after)."""
    with open_npz(source) as archive:
        members = [(item.filename.removesuffix(".npy"), item.compress_type) for item in archive.infolist()]
    arrays = {name: read_npz(source, [name])[0] for name, _ in members}
    return write_arrays(arrays, target, dropped, edit, classes, dict(members))


def write_arrays(
    arrays: Mapping[str, NDArray[Any]],
    target: Path,
    dropped: Path | None,
    edit: Edit,
    classes: NDArray[np.int64],
    compression: Mapping[str, int] | None = None,
) -> list[tuple[int, str, str | None]]:
    """``write_npz`` for arrays in memory; ``compression`` is the method of each array."""
    label = arrays[LABELS]
    after = relabelled(label, edit, classes)
    rows = [name for name, array in arrays.items() if name.endswith(PART) and array.shape[:1] == label.shape]
    kept = np.array([row for row in range(len(label)) if row not in edit.drop], np.int64)
    dropped_rows = np.array(sorted(edit.drop), np.int64)
    new = {**arrays, LABELS: after}
    parts = ((name, array[kept] if name in rows else array) for name, array in new.items())
    _write(parts, target, compression)
    if dropped is not None:
        _write(((name, arrays[name][dropped_rows]) for name in rows), dropped, compression)
    return changes_of(label, after, edit)


def restore_npz(
    corrected: Path, dropped: Path | None, target: Path, before: Mapping[int, str | None]
) -> None:
    """Restore the original; ``before`` holds the old label of each changed row, None if it was dropped."""
    with open_npz(corrected) as archive:
        members = [(item.filename.removesuffix(".npy"), item.compress_type) for item in archive.infolist()]
    arrays = {name: read_npz(corrected, [name])[0] for name, _ in members}
    if dropped is not None:
        with open_npz(dropped) as archive:
            rows = [item.filename.removesuffix(".npy") for item in archive.infolist()]
        for name in rows:
            arrays[name] = interleaved(arrays[name], read_npz(dropped, [name])[0], before)
    label = arrays[LABELS]
    for row, old in before.items():
        if old is not None:
            label[row] = old == "True" if label.dtype.kind == "b" else label.dtype.type(old)
    _write(arrays.items(), target, dict(members))


def interleaved(
    kept: NDArray[Any], dropped_rows: NDArray[Any], before: Mapping[int, str | None]
) -> NDArray[Any]:
    """All rows in their original order, from the kept and the dropped rows."""
    rows = np.array(sorted(row for row, old in before.items() if old is None), np.int64)
    whole = np.empty((len(kept) + len(dropped_rows), *kept.shape[1:]), kept.dtype)
    is_dropped = np.zeros(len(whole), bool)
    is_dropped[rows] = True
    whole[is_dropped], whole[~is_dropped] = dropped_rows, kept
    return whole


def changes_of(before: NDArray[Any], after: NDArray[Any], edit: Edit) -> list[tuple[int, str, str | None]]:
    return [
        (row, str(before[row]), None if row in edit.drop else str(after[row]))
        for row in sorted(edit.drop | edit.relabel.keys())
    ]


def relabelled(label: NDArray[Any], edit: Edit, classes: NDArray[np.int64]) -> NDArray[Any]:
    """New values of the array of labels; ``classes`` are the class numbers of its rows."""
    numbers, first = np.unique(classes, return_index=True)
    example_row = dict(zip(numbers.tolist(), first.tolist(), strict=True))
    new = np.array(label)
    for row, number in edit.relabel.items():
        new[row] = label[example_row[number]] if number in example_row else number
    return new


def write_npy(array: NDArray[Any], target: Path) -> None:
    with replacing(target) as file:
        np.save(file, array, allow_pickle=False)


def _write(
    arrays: Iterable[tuple[str, NDArray[Any]]], target: Path, compression: Mapping[str, int] | None
) -> None:
    with replacing(target) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, array in arrays:
            memory = io.BytesIO()
            np.lib.format.write_array(memory, np.asanyarray(array), allow_pickle=False)
            item = zipfile.ZipInfo(f"{name}.npy")
            item.compress_type = (compression or {}).get(name, zipfile.ZIP_DEFLATED)
            archive.writestr(item, memory.getvalue())
