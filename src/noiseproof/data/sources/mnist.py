"""MNIST, and any dataset that comes in idx files of the same names."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from ..idx import read_idx
from ..labelled import LabelledData
from ..npz import read_npz
from ..root import find_files
from .split import check_split

PREFIX = {"train": "train", "test": "t10k"}


def mnist(
    *, root: Path, split: str = "train", path: str | None = None, num_classes: int = 10
) -> LabelledData:
    """Grey images as uint8 (1, height, width).

    Reads ``train-images-idx3-ubyte`` and its relatives, with or without ``.gz``, or ``mnist.npz`` with
    x_train, y_train, x_test, y_test. ``path`` is the folder of another idx dataset, such as Fashion-MNIST.

    Reference:
        LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, 1998
    """
    check_split("mnist", split)
    folder = root if path is None else Path(path).expanduser()
    found = find_files("mnist", folder, _choices(split), ["MNIST/raw", "raw"])
    images, labels = _read(found, split)
    if images.ndim != 3 or len(images) != len(labels):
        raise ValueError(f"{found[0]}: {images.shape} images and {labels.shape} labels do not fit together")
    names = [str(number) for number in range(num_classes)]
    pixels = torch.tensor(images).unsqueeze(1)
    return LabelledData(pixels, labels, clean_label=labels, class_names=names, name="mnist")


def _choices(split: str) -> list[tuple[str, ...]]:
    prefix = PREFIX[split]
    forms = product(("-", "."), ("", ".gz"))
    idx = [
        (f"{prefix}-images{dot}idx3-ubyte{end}", f"{prefix}-labels{dot}idx1-ubyte{end}") for dot, end in forms
    ]
    return [*idx, ("mnist.npz",)]


def _read(found: list[Path], split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if len(found) == 1:
        images, labels = read_npz(found[0], [f"x_{split}", f"y_{split}"])
        return images, labels
    return read_idx(found[0], dimensions=3), read_idx(found[1], dimensions=1)
