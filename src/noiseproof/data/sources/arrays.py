"""Numpy files: .npz with inputs and labels, or two .npy files of which the inputs are memory-mapped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labelled import LabelledData
from ..npz import read_npz
from .split import check_split, split_path


def arrays(
    *, path: str, root: Path | None = None, split: str = "train", labels: str | None = None
) -> LabelledData:
    """``arrays(path="all.npz")`` with x_train, y_train, x_test, y_test, or
    ``arrays(path="x_{split}.npy", labels="y_{split}.npy")``, which may be larger than memory.

    Inputs keep their shape and dtype; arrays of Python objects are refused.
    """
    check_split("arrays", split)
    if path.endswith(".npz"):
        if labels is not None:
            raise ValueError("arrays: labels=... goes with .npy files; an .npz file has its labels inside")
        inputs, label = read_npz(Path(path).expanduser(), [f"x_{split}", f"y_{split}"])
    elif path.endswith(".npy") and labels is not None:
        inputs = _mapped(split_path("arrays", path, split))
        label = np.array(_mapped(split_path("arrays", labels, split)))
    else:
        raise ValueError(
            f"arrays: path={path!r} with labels={labels!r}: expected an .npz file, or an .npy file of inputs"
            " and labels=... with another of labels"
        )
    return LabelledData(inputs, label, name="arrays")


def _mapped(path: Path) -> NDArray[Any]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file: expected an array saved with numpy.save")
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as problem:
        raise ValueError(f"cannot map {path}: {problem}") from None
    return mapped
