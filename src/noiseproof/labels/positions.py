"""Samples with several labels (tokens, pixels, multi-label): suspects by sample and position, and regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..dynamics import Record
from .find import find

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]

NAMES = {1: ("position",), 2: ("row", "column")}


def with_positions(found: DataFrame, shape: Sequence[int]) -> DataFrame:
    """The frame of ``find`` with ``sample`` and ``position`` (or ``row`` and ``column``) after ``index``.

    Args:
        found: the frame for the record of a ``dynamics.Recorder(shape)``: tokens, pixels or multi-label.
        shape: of the Recorder, such as ``(sentences, longest)`` or ``(images, height, width)``.

    Example:
        >>> import pandas as pd
        >>> with_positions(pd.DataFrame({"index": [0, 7], "label_score": [0.9, 0.1]}), (2, 5))
           index  sample  position  label_score
        0      0       0         0          0.9
        1      7       1         2          0.1
    """
    sizes = _sizes(found["index"].to_numpy(), shape)
    names = NAMES.get(len(sizes) - 1) or tuple(f"position_{number}" for number in range(len(sizes) - 1))
    coordinates = np.unravel_index(found["index"].to_numpy(), sizes)
    table = found.copy()
    table.attrs = dict(found.attrs)
    for number, (name, values) in enumerate(zip(("sample", *names), coordinates, strict=True), 1):
        table.insert(number, name, values)
    return table


def worst_samples(found: DataFrame, shape: Sequence[int]) -> DataFrame:
    """The samples with suspects, in descending order of the expected number of wrong labels.

    Columns ``sample``, ``suspects``, ``labels``, ``expected_wrong``, ``label_score`` (the lowest).
    """
    table = with_positions(found, shape)
    marked = table.is_label_issue
    groups = table.assign(wrong=table.wrong_probability.where(marked, 0.0)).groupby("sample")
    summary = groups.agg(
        suspects=("is_label_issue", "sum"),
        labels=("is_label_issue", "size"),
        expected_wrong=("wrong", "sum"),
        label_score=("label_score", "min"),
    )
    kept = summary[summary.suspects > 0]
    return kept.sort_values(["expected_wrong", "label_score"], ascending=[False, True]).reset_index()


def regions(found: DataFrame, shape: Sequence[int], *, min_size: int = 1) -> DataFrame:
    """Connected regions of suspected pixels (or tokens) with equal given and predicted labels.

    Args:
        min_size: fewest pixels (tokens) of a region.

    Returns:
        One row per region, in descending order of ``expected_wrong``: ``sample``, ``given_label``,
        ``predicted_label``, ``size``, ``expected_wrong``, ``label_score`` (mean), and the bounding box,
        last row and column included: ``top``, ``left``, ``bottom``, ``right`` (tokens: ``first``, ``last``).
    """
    from pandas import DataFrame

    if isinstance(shape, Iterable) and len(shape) not in (2, 3):
        raise ValueError(f"shape must be (N, T) for tokens or (N, H, W) for pixels, got {tuple(shape)}")
    table = with_positions(found, shape)
    table = table[table.is_label_issue]
    keys = ["sample", "given_label", "predicted_label"]
    box = ["top", "left", "bottom", "right"] if len(shape) == 3 else ["first", "last"]
    rows = [
        (*key, len(region), region.wrong_probability.sum(), region.label_score.mean(), *corners)
        for key, part in table.groupby(keys)
        for region, corners in _connected(part, shape)
        if len(region) >= min_size
    ]
    frame = DataFrame(rows, columns=[*keys, "size", "expected_wrong", "label_score", *box])
    frame = frame.sort_values("expected_wrong", ascending=False, kind="stable", ignore_index=True)
    frame.attrs = dict(found.attrs)
    return frame


def _connected(part: DataFrame, shape: Sequence[int]) -> Iterator[tuple[DataFrame, list[int]]]:
    """Connected regions of one sample, also diagonally, and the corners of their bounding boxes."""
    from scipy.ndimage import find_objects, label  # type: ignore[import-untyped]

    mask = np.zeros(tuple(shape[1:]), dtype=bool)
    at = tuple(part[axis].to_numpy() for axis in NAMES[len(shape) - 1])
    mask[at] = True
    number, _ = label(mask, structure=np.ones((3,) * mask.ndim))
    for region, area in enumerate(find_objects(number), 1):
        corners = [side.start for side in area] + [side.stop - 1 for side in area]
        yield part[number[at] == region], corners


def find_multilabel(record: Record, shape: Sequence[int], names: Sequence[str] | None = None) -> DataFrame:
    """Judge each label of a multi-label task separately, since their frequencies and noise rates differ.

    Args:
        record: of a ``dynamics.Recorder((samples, labels), binary=True)``.
        shape: of the Recorder.
        names: of the labels.

    Returns:
        The frame of ``find``, one row per sample and label, with ``sample``, ``position`` (number of the
        label) and, if given, ``name``. ``attrs["noise_rates"]`` holds the noise rate of each label.
    """
    from pandas import concat

    if not isinstance(record, Record):
        raise TypeError(
            f"record is a {type(record).__name__}, expected that of a dynamics.Recorder with binary=True;"
            " for a table call find once per label: labels.find(X, label=y[:, k])"
        )
    sizes = _sizes(record.index.numpy(), shape)
    if len(sizes) != 2 or record.num_classes != 2:
        raise ValueError(f"expected a record of (samples, labels) with binary=True, got shape {sizes}")
    if record.shape not in (None, sizes):
        raise ValueError(f"the record has the shape {record.shape}, got {sizes}: give recorder.shape")
    if names is not None and len(names) != sizes[1]:
        raise ValueError(f"names has {len(names)} entries for {sizes[1]} labels")
    parts, rates = [], []
    for number in range(sizes[1]):
        part = _rows_of(record, record.index % sizes[1] == number)
        parts.append(with_positions(find(part), sizes))
        rates.append(parts[-1].attrs["noise_rate"])
    found = concat(parts, ignore_index=True).sort_values("index", ignore_index=True)
    if names is not None:
        found.insert(3, "name", np.asarray(names, dtype=object)[found.position.to_numpy()])
    found.attrs = {
        "class_names": list(record.class_names),
        "noise_rate": float(found.is_label_issue.mean()),
        "noise_rates": rates,
        "expected_wrong": float(found.wrong_probability[found.is_label_issue].sum()),
        "weak": any(part.attrs["weak"] for part in parts),
    }
    return found


def _rows_of(record: Record, rows: torch.Tensor) -> Record:
    return Record(
        record.index[rows],
        record.label[rows],
        None,
        record.class_names,
        record.margin[:, rows],
        record.prediction[:, rows],
    )


def _sizes(index: np.ndarray, shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, Iterable):
        raise TypeError(f"shape={shape!r} must be the sizes of the Recorder, such as recorder.shape")
    sizes, largest = tuple(map(int, shape)), int(index.max(initial=0))
    if len(sizes) < 2 or largest >= np.prod(sizes):
        raise ValueError(f"index {largest} is out of range for shape {sizes}: give the shape of the Recorder")
    return sizes
