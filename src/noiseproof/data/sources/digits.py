"""The 8 x 8 digits that come with scikit-learn: real data without a download."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from ..labelled import LabelledData
from .split import check_split

TRAIN = 1400


def digits(*, root: Path | None = None, split: str = "train") -> LabelledData:
    """1,400 training and 397 test digits, (1, 8, 8) float32 in [0, 1].

    The order is fixed by a hash of each number, so it is the same for every version of every library.

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
