"""File formats of labels and matrices, by file extension."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..data.numpy_files import map_npy, open_npz, read_npz
from ..files import parse_json, read_bytes

MAX_BYTES = 1 << 30
"""Maximal size of a text file in bytes."""


def _read_npy(path: Path, key: str | None) -> NDArray[np.generic]:
    if key is not None:
        raise ValueError(f"{path} is a single array: it has no key {key!r}")
    return np.array(map_npy(path))


def _read_npz(path: Path, key: str | None) -> NDArray[np.generic]:
    with open_npz(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
    return read_npz(path, [_single_key(path, key, names)])[0]


def _read_json(path: Path, key: str | None) -> NDArray[np.generic]:
    try:
        content = parse_json(_text(path))
    except ValueError as problem:
        raise ValueError(f"cannot read {path}: {problem}") from None
    if isinstance(content, dict):
        if key is None and content and all(name.isdecimal() for name in content):
            positions = {int(name): value for name, value in content.items()}
            if sorted(positions) != list(range(len(content))):
                raise ValueError(f"{path}: the indices do not run from 0 to {len(content) - 1} without gaps")
            content = [positions[i] for i in range(len(positions))]
        else:
            content = content[_single_key(path, key, list(content))]
    elif key is not None:
        raise ValueError(f"{path} is not a JSON object: it has no key {key!r}")
    if not isinstance(content, list):
        raise ValueError(f"{path}: a list of labels is needed, got {type(content).__name__}")
    for position, entry in enumerate(content):
        if isinstance(entry, bool) or not isinstance(entry, (int, float, list)):
            raise ValueError(f"{path}: entry {position} is {entry!r}, not a number")
    try:
        return np.asarray(content)
    except (ValueError, OverflowError) as problem:
        raise ValueError(f"{path}: not a regular list of numbers ({problem})") from None


def _read_csv(path: Path, key: str | None) -> NDArray[np.generic]:
    rows = [row for row in csv.reader(_text(path).splitlines()) if row]
    if not rows:
        return np.zeros(0, dtype=np.int64)
    header = None if all(_is_number(cell) for cell in rows[0]) else [cell.strip() for cell in rows[0]]
    body = rows if header is None else rows[1:]
    if header is None and key is None:
        columns = list(range(len(rows[0])))
    else:
        columns = [(header or []).index(_single_key(path, key, header or []))]
    return np.array([_numbers(path, number, row, columns) for number, row in enumerate(body)])


def _numbers(path: Path, number: int, row: list[str], columns: list[int]) -> list[int] | list[float]:
    cells = [row[column].strip() if column < len(row) else "" for column in columns]
    for cell in cells:
        if not _is_number(cell):
            raise ValueError(f"{path}: row {number} (from 0, below the header) has {cell!r}, not a number")
    return [int(c) for c in cells] if all(_is_whole(c) for c in cells) else [float(c) for c in cells]


def _single_key(path: Path, key: str | None, known: list[str]) -> str:
    if key is None and len(known) == 1:
        return known[0]
    if key is None or key not in known:
        wanted = "key= is missing" if key is None else f"there is no {key!r}"
        raise ValueError(f"{path}: {wanted}, choose key= from {', '.join(map(repr, known)) or 'nothing'}")
    return key


def _text(path: Path) -> str:
    return read_bytes(path, MAX_BYTES).decode("utf-8-sig")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdecimal()


READERS: dict[str, Callable[[Path, str | None], NDArray[np.generic]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".json": _read_json,
}
