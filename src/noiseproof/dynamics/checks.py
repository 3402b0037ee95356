"""Checks of the files of a run folder.

Every check raises a ``DamagedFileError``, a ValueError with the file, the problem and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import files
from ..files import DamagedFileError
from ..memory import available_memory

REMEDY = "restore the file, or remove the folder to train it again"
FORMAT = 1
"""Format version of run folders; reading folders of later versions raises an error."""
MAX_VALUES = 1 << 31
"""Largest number of values of one input."""


def damaged(path: Path, reason: str) -> DamagedFileError:
    """The error for a damaged file of a run folder."""
    return DamagedFileError(path, reason, state="is damaged", remedy=REMEDY)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run folder."""
    with _with_remedy(path):
        return files.read_json(path)


def read_tensors(path: Path, max_bytes: int | None = None) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file of up to ``max_bytes``, by default the free memory."""
    with _with_remedy(path):
        return files.read_tensors(path, available_memory() if max_bytes is None else max_bytes)


@contextmanager
def _with_remedy(path: Path) -> Iterator[None]:
    try:
        yield
    except DamagedFileError as problem:
        raise DamagedFileError(path, problem.reason, remedy=REMEDY) from None
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is missing; {REMEDY}") from None


def check_samples(path: Path, facts: Mapping[str, Tensor], metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Check numbers and labels of the samples; returns the class names."""
    for name in ("index", "label", *(["clean_label"] if "clean_label" in facts else [])):
        if name not in facts:
            raise damaged(path, f"it has no tensor {name!r}")
        column = facts[name]
        if column.dtype != torch.int64 or column.dim() != 1 or len(column) != len(facts["index"]):
            raise damaged(path, f"{name} is {_described(column)}, not int64 of shape (samples,)")
    index = facts["index"].sort().values
    twice = index[1:][index[1:] == index[:-1]]
    if len(twice):
        raise damaged(path, f"sample {int(twice[0])} occurs twice")
    if len(index) and int(index[0]) < 0:
        raise damaged(path, f"a sample has the negative number {int(index[0])}")
    try:
        names = files.parse_json(metadata.get("class_names", ""))
    except ValueError:
        names = None
    if not is_list_of(names, str) or not names:
        raise damaged(path, "it has no list of class names")
    return tuple(names)


def check_label_shape(path: Path, metadata: Mapping[str, str]) -> tuple[int, ...] | None:
    """The sizes of a ``Recorder`` with several labels per sample, None if there are none."""
    if "shape" not in metadata:
        return None
    try:
        sizes = files.parse_json(metadata["shape"])
    except ValueError:
        sizes = None
    if not is_list_of(sizes, int) or not sizes or min(sizes) < 1:
        raise damaged(path, "its shape is not a list of sizes")
    return tuple(sizes)


def check_columns(path: Path, columns: Mapping[str, Tensor], shape: tuple[int, ...]) -> None:
    """Check dtype and shape of margins, predictions and extra columns."""
    for name in ("margin", "prediction"):
        if name not in columns:
            raise damaged(path, f"it has no tensor {name!r}")
    for name, column in columns.items():
        is_integer = column.dtype in (torch.int32, torch.int64)
        if column.shape != shape or not (is_integer if name == "prediction" else column.is_floating_point()):
            kind = "integers" if name == "prediction" else "floats"
            raise damaged(path, f"{name} is {_described(column)}, not {kind} of shape {shape}")


def check_outputs(path: Path, outputs: Mapping[str, Tensor]) -> None:
    """Check labels, numbers and probabilities of a finished run."""
    for name, column in outputs.items():
        is_integer = name.endswith(("_label", "_index"))
        fits = column.dim() == (1 if is_integer else 2) and column.dtype.is_floating_point != is_integer
        if not fits or (is_integer and column.dtype != torch.int64):
            raise damaged(path, f"{name} is {_described(column)}")
    for part in ("validation", "test"):
        _check_part(path, part, outputs)


def _check_part(path: Path, part: str, outputs: Mapping[str, Tensor]) -> None:
    label, probability = outputs.get(f"{part}_label"), outputs.get(f"{part}_probability")
    if label is None or not len(label):
        return
    if len(outputs.get(f"{part}_index", label)) != len(label):
        raise damaged(path, f"{part}_index and {part}_label have different lengths")
    if int(label.min()) < 0:
        raise damaged(path, f"{part}_label contains {int(label.min())}, which is not a valid class")
    if probability is not None and (
        len(probability) != len(label) or int(label.max()) >= probability.shape[1]
    ):
        reason = f"{part}_probability is {_described(probability)}, which does not fit {part}_label"
        raise damaged(path, reason)


def check_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Check the format version of the run folder, and the facts about the data."""
    version = content.get("format", FORMAT)
    if type(version) is not int or version < 1:
        raise damaged(path, f"its format {version!r} is not a valid version")
    if version > FORMAT:
        written = content.get("environment")
        newer = written.get("noiseproof") if isinstance(written, dict) else None
        raise ValueError(
            f"{path} has format {version}, this version of noiseproof reads format {FORMAT}: use noiseproof"
            f" {newer if isinstance(newer, str) else 'of the version that wrote it'} or later"
        )
    for name in ("data", "noise", "environment"):
        if not isinstance(content.get(name), dict | None):
            raise damaged(path, f"{name!r} is not a JSON object")
    facts = content.get("data") or {}
    for name in ("class_names", "columns"):
        if name in facts and not is_list_of(facts[name], str):
            raise damaged(path, f"{name!r} is not a list of names")
    if "sample_shape" in facts:
        check_shape(path, facts["sample_shape"])


def check_shape(path: Path, shape: object) -> None:
    """Check the shape of one input: positive sides, and at most MAX_VALUES values."""
    if not is_list_of(shape, int) or not all(side >= 1 for side in shape):  # type: ignore[attr-defined]
        raise damaged(path, f"sample_shape is {shape!r:.200}, not a list of sides")
    size = 1
    for side in shape:  # type: ignore[attr-defined]
        size *= side
        if size > MAX_VALUES:
            raise damaged(path, f"sample_shape {shape!r:.200} has more than {MAX_VALUES:,} values")


def check_numbers(path: Path, content: Mapping[str, Any], where: str = "") -> None:
    """Check that metrics or results contain only numbers and None, also in lists and objects."""
    for name, value in content.items():
        if isinstance(value, dict):
            check_numbers(path, value, f"{where}{name!r} of ")
            continue
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, (int, float)) and one is not None:
                raise damaged(path, f"{where}{name!r} is {one!r:.100}, not a number")


def is_list_of(value: object, kind: type) -> bool:
    """Whether a value is a list with entries of exactly this type; a bool is not an int here."""
    return isinstance(value, list) and all(type(entry) is kind for entry in value)


def _described(column: Tensor) -> str:
    return f"{str(column.dtype).removeprefix('torch.')} of shape {tuple(column.shape)}"
