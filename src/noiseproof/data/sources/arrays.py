"""Numpy files: .npz with inputs and labels, or two .npy files with memory-mapped inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..class_labels import numbers_and_names
from ..labelled import LabelledData
from ..locations import NoSplitError, check_split, data_root, split_path
from ..numpy_files import map_npy, open_npz, read_npz, read_or_map


def arrays(
    *,
    path: str,
    root: Path | None = None,
    split: str = "train",
    labels: str | None = None,
    stream: bool | None = None,
    labelled: bool = True,
) -> LabelledData:
    """``arrays(path="all.npz")`` with x_train, y_train, x_test, y_test, or
    ``arrays(path="x_{split}.npy", labels="y_{split}.npy")``, which may be larger than memory.

    Inputs keep their shape and dtype; arrays of Python objects raise an error. Labels are class numbers, of
    which the largest in training determines the number of classes, or class names. ``labelled=False`` reads
    only inputs, x_test or x_train of an .npz or one .npy file, for prediction.

    ``stream=True`` maps the inputs of an .npz file from a file in the folder ``streams`` of ``root``, to
    which they are unpacked once. This is the default for inputs larger than a quarter of the available
    memory. Inputs of an .npy file are always mapped, unless ``stream=False``.
    """
    check_split("arrays", split)
    base = data_root() if root is None else root
    if not labelled:
        return _unlabelled(path, split, labels, base, stream)
    if path.endswith(".npz"):
        if labels is not None:
            raise ValueError("arrays: labels=... is for .npy files: an .npz file contains its labels")
        file = _checked_npz(Path(path).expanduser(), split)
        label, training = read_npz(file, [f"y_{split}", "y_train"])
        inputs = read_or_map(file, f"x_{split}", base, stream=stream)
    elif path.endswith(".npy") and labels is not None:
        inputs = _npy_inputs(path, split, stream)
        label = np.array(_mapped(split_path("arrays", labels, split)))
        training = label if split == "train" else np.array(_mapped(split_path("arrays", labels, "train")))
    else:
        raise ValueError(
            f"arrays: path={path!r} with labels={labels!r}: expected an .npz file, or an .npy file of inputs"
            " and labels=... with another of labels, or labelled=False to predict inputs alone"
        )
    names = numbers_and_names(training, None, None, None)[2]
    return LabelledData(inputs, label, class_names=names, name="arrays")


def _unlabelled(path: str, split: str, labels: str | None, root: Path, stream: bool | None) -> LabelledData:
    """Inputs without labels; all get the same class."""
    if labels is not None or not path.endswith((".npz", ".npy")):
        raise ValueError(
            f"arrays: path={path!r} with labels={labels!r} and labelled=False: expected an .npz or .npy file"
            " and no labels=..."
        )
    if path.endswith(".npy"):
        inputs = _npy_inputs(path, split, stream)
    else:
        file = _checked_npz(Path(path).expanduser(), split, labelled=False)
        inputs = read_or_map(file, f"x_{split}", root, stream=stream)
    one_class = np.zeros(inputs.shape[:1] or 1, np.int64)
    return LabelledData(inputs, one_class, class_names=["unlabelled"], name="arrays")


def _npy_inputs(path: str, split: str, stream: bool | None) -> NDArray[Any]:
    mapped = _mapped(split_path("arrays", path, split))
    return np.array(mapped) if stream is False else mapped


def _checked_npz(file: Path, split: str, *, labelled: bool = True) -> Path:
    """The file; NoSplitError or ValueError if it does not have the arrays of the split."""
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is not a file: give an .npz with x_train, y_train and, for tests, x_test, y_test"
        )
    with open_npz(file) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    if split == "test" and not names & ({"x_test", "y_test"} if labelled else {"x_test"}):
        raise NoSplitError(f"{file} has no x_test" + (" and y_test" if labelled else ""))
    needed = {f"x_{split}", f"y_{split}", "y_train"} if labelled else {f"x_{split}"}
    missing = sorted(needed - names)
    if missing:
        only_inputs = labelled and f"x_{split}" in names
        raise ValueError(
            f"{file} has no array {missing[0]!r} (it has: {', '.join(sorted(names))}): name inputs and labels"
            " x_train, y_train and, for tests, x_test, y_test"
            + (", or add labelled=False to predict inputs without labels" if only_inputs else "")
        )
    return file


def _mapped(path: Path) -> NDArray[Any]:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected an array saved with numpy.save")
    return map_npy(path, "map")
