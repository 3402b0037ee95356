"""MNIST and other datasets in idx files of the same names, and the digits of scikit-learn."""

from __future__ import annotations

import gzip
import hashlib
import math
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ..labelled import LabelledData
from ..locations import check_split, find_files
from ..numpy_files import read_npz

PREFIX = {"train": "train", "test": "t10k"}
MAX_BYTES = 1 << 32
STEP = 1 << 20
TRAIN = 1400


def mnist(
    *, root: Path, split: str = "train", path: str | None = None, num_classes: int = 10
) -> LabelledData:
    """MNIST: grey images, uint8 (1, height, width).

    Reads ``train-images-idx3-ubyte`` and three other files, with or without ``.gz``, or ``mnist.npz`` with
    x_train, y_train, x_test, y_test. ``path`` is the folder of another idx dataset, such as Fashion-MNIST.

    Reference:
        LeCun, Bottou, Bengio & Haffner, Gradient-based learning applied to document recognition, 1998
    """
    check_split("mnist", split)
    folder = root if path is None else Path(path).expanduser()
    found = find_files("mnist", folder, _choices(split), ["MNIST/raw", "raw"])
    images, labels = _read_images_and_labels(found, split)
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


def _read_images_and_labels(found: list[Path], split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if len(found) == 1:
        images, labels = read_npz(found[0], [f"x_{split}", f"y_{split}"])
        return images, labels
    return read_idx(found[0], dimensions=3), read_idx(found[1], dimensions=1)


def read_idx(path: str | Path, *, dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes.

    Its format: two zero bytes, 8 (unsigned byte), the number of dimensions, each size as a big-endian 32-bit
    integer, then the values.
    """
    try:
        with _opened(Path(path)) as file:
            return _array(file, dimensions)
    except (EOFError, OSError, ValueError) as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        raise ValueError(f"{path} is not a complete idx file of {dimensions} dimensions: {problem}") from None


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")


def _array(file: BinaryIO, dimensions: int) -> NDArray[np.uint8]:
    header = _exactly(file, 4 + 4 * dimensions)
    expected = bytes([0, 0, 8, dimensions])
    if header[:4] != expected:
        raise ValueError(f"it starts with {header[:4].hex()} instead of {expected.hex()}")
    shape = [int(side) for side in np.frombuffer(header, ">u4", offset=4)]
    count = math.prod(shape)
    if count > MAX_BYTES:
        raise ValueError(f"shape {shape} is larger than {MAX_BYTES} bytes")
    content = _exactly(file, count)
    if file.read(1):
        raise ValueError(f"there are bytes after the {count} that shape {shape} needs")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _exactly(file: BinaryIO, count: int) -> bytes:
    """Read exactly ``count`` bytes in steps, so that a wrong size in the header allocates no memory."""
    parts = []
    missing = count
    while missing:
        part = file.read(min(STEP, missing))
        if not part:
            raise ValueError(f"it ends {missing} bytes too early")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def digits(*, root: Path | None = None, split: str = "train") -> LabelledData:
    """1,400 training and 397 test digits, (1, 8, 8) float32 in [0, 1].

    The order is determined by hashes of the sample numbers, so it does not depend on library versions.

    Example:
        >>> digits(split="test")
        LabelledData(digits: 397 samples, 10 classes)

    Reference:
        Alpaydin & Kaynak, Optical Recognition of Handwritten Digits, UCI 1998
    """
    from sklearn.datasets import load_digits

    check_split("digits", split)
    bunch = load_digits()
    order = sorted(range(len(bunch.target)), key=lambda i: hashlib.sha256(f"digits {i}".encode()).digest())
    chosen = torch.tensor(order[:TRAIN] if split == "train" else order[TRAIN:])
    pixels = torch.from_numpy(bunch.images)[chosen].float().div(16).unsqueeze(1)
    label = torch.from_numpy(bunch.target)[chosen]
    return LabelledData(pixels, label, clean_label=label, name="digits")
