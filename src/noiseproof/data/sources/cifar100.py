"""CIFAR-100: 100 classes in 20 superclasses, 50,000 training and 10,000 test images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..labelled import LabelledData
from ..root import find_files
from .cifar100_classes import CLASSES, GROUPS, SUPERCLASSES
from .cifar_files import check_labels, read_arrays, read_binary, read_python
from .split import check_split


def cifar100(*, root: Path, split: str = "train") -> LabelledData:
    """Images as uint8 (3, 32, 32) with fine labels, from .bin, Python batches or ``cifar100.npz``.

    ``groups`` is the superclass of each class; the coarse labels in the files must agree with it. The
    official training set repeats 14 images, 9 of them under another label, the test set 2 and 2; that is
    known and not warned of, ``find_duplicates`` lists them.

    Reference:
        Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009
    """
    check_split("cifar100", split)
    choices = [[f"{split}.bin"], ["cifar100.npz"], [split]]
    (path,) = find_files("cifar100", root, choices, ["cifar-100-binary", "cifar-100-python"])
    images, labels = _read(path, split)
    check_labels(path, labels, [len(SUPERCLASSES), len(CLASSES)])
    coarse, fine = labels.T
    _check_superclasses(path, coarse, fine)
    pixels = torch.from_numpy(np.array(images))
    return LabelledData(
        pixels,
        fine,
        clean_label=fine,
        class_names=CLASSES,
        groups=GROUPS,
        name="cifar100",
        duplicates="ignore",
    )


def _read(path: Path, split: str) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Images and the columns coarse, fine."""
    if path.suffix == ".bin":
        return read_binary(path, 2)
    if path.suffix == ".npz":
        return read_arrays(path, [f"x_{split}", f"y_{split}_coarse", f"y_{split}"])
    return read_python(path, ["coarse_labels", "fine_labels"])


def _check_superclasses(path: Path, coarse: NDArray[Any], fine: NDArray[Any]) -> None:
    wrong = np.array(GROUPS)[fine] != coarse
    if wrong.any():
        where = int(wrong.argmax())
        expected = GROUPS[int(fine[where])]
        raise ValueError(
            f"{path}: record {where} is a {CLASSES[int(fine[where])]} of superclass {coarse[where]}, but that"
            f" class belongs to superclass {expected}: the file is damaged"
        )
