"""CIFAR-10: 50,000 training and 10,000 test images of ten classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..labelled import LabelledData
from ..root import find_files
from .cifar_files import check_labels, read_arrays, read_binary, read_python
from .split import check_split

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}


def cifar10(*, root: Path, split: str = "train") -> LabelledData:
    """Images as uint8 (3, 32, 32) in the official order, from .bin, Python batches or ``cifar10.npz``.

    Reference:
        Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009
    """
    check_split("cifar10", split)
    names = BATCHES[split]
    choices = [[f"{name}.bin" for name in names], ["cifar10.npz"], names]
    found = find_files("cifar10", root, choices, ["cifar-10-batches-bin", "cifar-10-batches-py"])
    parts = [_read(path, split) for path in found]
    images = np.concatenate([images for images, _ in parts])
    label = np.concatenate([labels for _, labels in parts])[:, 0]
    pixels = torch.from_numpy(images)
    return LabelledData(pixels, label, clean_label=label, class_names=CLASSES, name="cifar10")


def _read(path: Path, split: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    images: NDArray[np.uint8]
    labels: NDArray[Any]
    if path.suffix == ".bin":
        images, labels = read_binary(path, 1)
    elif path.suffix == ".npz":
        images, labels = read_arrays(path, [f"x_{split}", f"y_{split}"])
    else:
        images, labels = read_python(path, ["labels"])
    check_labels(path, labels, [len(CLASSES)])
    return images, labels
