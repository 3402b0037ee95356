"""The three forms in which CIFAR is found: official binary, official Python batches, and .npz."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..npz import read_npz
from ..plain_pickle import read_plain_pickle

PIXELS = 3 * 32 * 32


def read_binary(path: Path, label_bytes: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Records of some label bytes and 3,072 pixels; images (N, 3, 32, 32) and labels (N, label_bytes)."""
    record = label_bytes + PIXELS
    length = path.stat().st_size
    if length == 0 or length % record:
        raise ValueError(f"{path} has {length} bytes, not a multiple of {record}: truncated, get it again")
    rows = np.fromfile(path, np.uint8).reshape(-1, record)
    return rows[:, label_bytes:].reshape(-1, 3, 32, 32), rows[:, :label_bytes]


def read_python(path: Path, label_keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The same from a Python batch, read without unpickling."""
    found = read_plain_pickle(path)
    images = found.get("data")
    if not (isinstance(images, np.ndarray) and images.dtype == np.uint8 and images.shape[1:] == (PIXELS,)):
        raise ValueError(f"{path} has no uint8 array 'data' of shape (N, {PIXELS})")
    columns = []
    for key in label_keys:
        labels = found.get(key)
        if not isinstance(labels, list) or len(labels) != len(images):
            raise ValueError(f"{path} has no list {key!r} of {len(images)} labels")
        if not all(isinstance(label, int) for label in labels):
            raise ValueError(f"{path}: {key!r} contains something other than whole numbers")
        columns.append(np.array(labels, np.int64))
    return images.reshape(-1, 3, 32, 32), np.stack(columns, 1)


def read_arrays(path: Path, keys: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The same from .npz, whose images are (N, 32, 32, 3); the first key is that of the images."""
    images, *labels = read_npz(path, keys)
    if images.dtype != np.uint8 or images.shape[1:] != (32, 32, 3):
        raise ValueError(f"{path}: {keys[0]} is {images.dtype} {images.shape}, expected uint8 (N, 32, 32, 3)")
    for key, column in zip(keys[1:], labels, strict=True):
        if column.shape != (len(images),):
            raise ValueError(f"{path}: {key} has shape {column.shape}, expected ({len(images)},)")
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)), np.stack(labels, 1)


def check_labels(path: Path, labels: NDArray[Any], classes: Sequence[int]) -> None:
    """Each column of labels is below its number of classes; otherwise file and record are named."""
    for column, count in zip(labels.T, classes, strict=True):
        stray = (column < 0) | (column >= count)
        if stray.any():
            where = int(stray.argmax())
            raise ValueError(f"{path}: record {where} has label {column[where]}, which is not below {count}")
