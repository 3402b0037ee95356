"""Reading labels from npy, npz, csv and json files; nothing is unpickled."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .arrays import as_integers, as_labels, as_tensor
from .formats import READERS


def read_labels(
    path: str | Path,
    key: str | None = None,
    *,
    length: int | None = None,
    num_classes: int | None = None,
) -> Tensor:
    """Labels (N,) in int64 from a file.

    ``key`` names the array of an npz, the column of a csv, or the entry of a json object; it may be omitted
    if there is only one. A json object may also map indices to labels. ``length`` and ``num_classes``
    are checked where given.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "labels.json").write_text("[3, 1, 2]")
        ...     read_labels(Path(folder, "labels.json"), num_classes=4)
        tensor([3, 1, 2])
    """
    what = f"{Path(path).name}{'' if key is None else f':{key}'}"
    array = read_array(path, key)
    array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
    labels = as_integers(array, what) if num_classes is None else as_labels(array, num_classes, what)
    if length is not None and len(labels) != length:
        raise ValueError(f"{path} holds {len(labels)} labels, expected {length}")
    return as_tensor(labels)


def read_array(path: str | Path, key: str | None = None) -> NDArray[np.generic]:
    """The array of a file, by its extension."""
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"cannot read {path}: {path.suffix or 'no file extension'} is not one of {', '.join(READERS)}"
            " (pickles such as .pt and .pkl are never opened: save the array with numpy.savez first)"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        return reader(path, key)
    except (
        csv.Error,
        UnicodeDecodeError,
        zipfile.BadZipFile,
        EOFError,
        RecursionError,
    ) as problem:
        raise ValueError(f"cannot read {path}: {problem}") from None
