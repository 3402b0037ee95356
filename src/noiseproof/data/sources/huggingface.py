"""Datasets of the Hugging Face library, in memory or saved to disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...grammar import nearest
from ..images import CHANNELS, flatten_transparency
from ..labelled import LabelledData
from ..locations import check_split

INPUT_COLUMNS = ("image", "img", "input", "inputs", "features", "pixel_values")


def huggingface(
    dataset: Any = None,
    *,
    path: str | None = None,
    root: Path | None = None,
    split: str = "train",
    label: str = "label",
    input: str | None = None,  # noqa: A002
    mode: str = "RGB",
    size: int | None = None,
) -> LabelledData:
    """Data of a ``datasets.Dataset`` with a column of class numbers and one of images or numbers.

    Rows are read on demand; nothing is downloaded. In a spec, ``path`` is a folder written by
    ``save_to_disk`` (needs the extra ``hf``). Class names are those of the ClassLabel feature.
    """
    rows = _from_disk(path, split) if dataset is None else dataset
    columns = list(rows.column_names)
    if label not in columns:
        raise ValueError(f"unknown column {label!r}{nearest(label, columns)}")
    chosen = input or next((name for name in INPUT_COLUMNS if name in columns), None)
    if chosen not in columns:
        raise ValueError(f"the column of inputs is not known: pass input=...{nearest(str(chosen), columns)}")
    names = getattr(rows.features[label], "names", None)
    labels = np.asarray(rows[label])
    return LabelledData(
        DatasetColumn(rows, str(chosen), mode, size), labels, class_names=names, name="huggingface"
    )


class DatasetColumn:
    """One column of a dataset, read on demand."""

    def __init__(self, rows: Any, column: str, mode: str = "RGB", size: int | None = None) -> None:
        if mode not in CHANNELS:
            raise ValueError(f"mode={mode!r} is unknown, choose one of {', '.join(CHANNELS)}")
        self.rows = rows.select_columns([column]) if hasattr(rows, "select_columns") else rows
        self.column, self.mode, self.size = column, mode, size

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, positions: NDArray[np.int64]) -> Tensor:
        tensors = [
            self._tensor(value, int(position))
            for value, position in zip(self._values(positions.tolist()), positions, strict=True)
        ]
        for position, tensor in zip(positions, tensors, strict=True):
            if tensor.shape != tensors[0].shape:
                raise ValueError(
                    f"sample {position} has shape {tuple(tensor.shape)} but sample {positions[0]} has"
                    f" {tuple(tensors[0].shape)}: pass size=... to resize all images"
                )
        return torch.stack(tensors) if tensors else torch.empty(0)

    def _values(self, positions: list[int]) -> list[Any]:
        """Values of all rows, decoded together; if that fails, an error with the number of the bad row."""
        try:
            return list(self.rows[positions][self.column])
        except Exception:  # decoders may raise any exception
            for position in positions:
                try:
                    self.rows[[position]]
                except Exception as problem:
                    raise self._unusable(position, problem) from problem
            raise

    def _tensor(self, value: Any, position: int) -> Tensor:
        try:
            return self._converted(value)
        except Exception as problem:  # decoders may raise any exception
            raise self._unusable(position, problem) from problem

    def _unusable(self, position: int, problem: Exception) -> ValueError:
        return ValueError(
            f"row {position}: cannot use the value of column {self.column!r} as an image or numbers:"
            f" {type(problem).__name__}: {problem}"
        )

    def _converted(self, value: Any) -> Tensor:
        if isinstance(value, str):
            raise TypeError(f"it is the text {value[:40]!r}")
        if not hasattr(value, "convert"):
            tensor = torch.as_tensor(value)
            return tensor.float() if tensor.dtype == torch.float64 else tensor
        image = flatten_transparency(value).convert(self.mode)
        if self.size is not None:
            image = image.resize((self.size, self.size), resample=2)
        pixels = np.asarray(image, np.uint8).reshape(image.height, image.width, CHANNELS[self.mode])
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())


def _from_disk(path: str | None, split: str) -> Any:
    check_split("huggingface", split)
    if path is None:
        raise ValueError('huggingface: give a dataset, or in a spec path="folder written by save_to_disk"')
    try:
        from datasets import load_from_disk  # type: ignore[import-not-found, import-untyped]
    except ImportError as problem:
        raise ImportError("huggingface needs the extra hf: pip install 'noiseproof[hf]'") from problem
    found = load_from_disk(str(Path(path).expanduser()))
    return _split_of(found, split, path)


def _split_of(found: Any, split: str, path: str) -> Any:
    if hasattr(found, "keys"):
        if split not in found:
            raise ValueError(
                f"huggingface: {path} has no split {split!r}{nearest(split, list(found.keys()))}"
            )
        return found[split]
    if split != "train":
        raise ValueError(
            f"huggingface: {path} is one dataset without a {split} split: save a DatasetDict with train and"
            " test"
        )
    return found
