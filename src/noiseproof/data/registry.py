"""All sources by name, and loading of data by spec."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path, PurePath
from typing import Any

from ..features import Features
from ..grammar import Literal, literal, nearest, options, read
from ..memory import on_the_cpu
from .duplicates import check_policy, report_duplicates, without_duplicate_check
from .labelled import LabelledData
from .locations import MANUAL_DOWNLOADS, data_root
from .sources.arrays import arrays
from .sources.cifar import cifar10, cifar100, cifar_n, vehicles10
from .sources.digits import digits, mnist
from .sources.folder import folder
from .sources.huggingface import huggingface
from .sources.real_world import animal10n, clothing1m, food101n, mars, webvision
from .sources.table import table

MAX_CHARACTERS = 4000
IN_MEMORY = "memory"
"""Source in the settings of a run whose data were passed in Python."""


def parse_source(text: str) -> tuple[str, dict[str, Literal]]:
    """Name and options of a source.

    Example:
        >>> parse_source('folder(path="photos", size=64)')
        ('folder', {'path': 'photos', 'size': 64})
        >>> parse_source("folder(3)")
        Traceback (most recent call last):
        ValueError: cannot read the source 'folder(3)': give options by keyword, as in folder(path="photos")
    """
    match read(text, "source", MAX_CHARACTERS):
        case ast.Name(id=name):
            return name, {}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            return name, {word: literal(node, text) for word, node in options(keywords, text).items()}
        case ast.Call(func=ast.Name()):
            reason = 'give options by keyword, as in folder(path="photos")'
        case _:
            reason = "expected a name or name(option=value)"
    raise ValueError(f"cannot read the source {text!r}: {reason}")


def source_of_path(text: str) -> str | None:
    """The spec of the source for a text that is only a path; None for other texts.

    Example:
        >>> source_of_path("my rows.csv"), source_of_path("digits")
        ('csv(path="my rows.csv")', None)
    """
    kinds = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".npz": "npz", ".npy": "arrays"}
    path = PurePath(text)
    if "(" in text or not (path.suffix.lower() in kinds or "/" in text or "\\" in text):
        return None
    return f'{kinds.get(path.suffix.lower(), "folder")}(path="{path.as_posix()}")'


SOURCES: dict[str, Callable[..., LabelledData]] = {
    "digits": digits,
    "mnist": mnist,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "cifar_n": cifar_n,
    "vehicles10": vehicles10,
    "folder": folder,
    "csv": table,
    "parquet": table,
    "arrays": arrays,
    "npz": arrays,
    "huggingface": huggingface,
    "clothing1m": clothing1m,
    "webvision": webvision,
    "animal10n": animal10n,
    "food101n": food101n,
    "mars": mars,
}
"""Loaders by name; a loader takes ``root``, ``split`` and the options of its spec by keyword."""
POLICY, SAMPLES, ROOT = "duplicates", "samples", "root"
"""Options of all sources, and, for ``root``, of those in MANUAL_DOWNLOADS."""


def load(
    spec: str | LabelledData,
    *,
    root: str | Path | None = None,
    split: str = "train",
    duplicates: str | None = None,
    features: Features | None = None,
) -> LabelledData:
    """Load the data of a spec; LabelledData are returned unchanged.

    ``root`` is the folder of datasets, by default ``data_root()``; ``split`` is "train" or "test";
    ``duplicates`` is "ignore", "warn" or "error" as in ``LabelledData``, and may also be in the spec, as in
    ``csv(path="rows.csv", duplicates="ignore")``, like the ``root`` of data in ``MANUAL_DOWNLOADS``. With
    ``samples=300``, any spec loads 300 equidistant samples, for a trial. ``features`` are those of a run,
    whose columns are read from a table.

    Example:
        >>> load("digits")
        LabelledData(digits: 1400 samples, 10 classes)
        >>> load("digit")
        Traceback (most recent call last):
        ValueError: unknown source 'digit', did you mean 'digits'? (known: digits, mnist, ...
    """
    check_policy(duplicates)
    data = spec
    if not isinstance(data, LabelledData):
        name, options = _checked_spec(spec)
        written: Any = options.pop(POLICY, None)
        few: Any = options.pop(SAMPLES, None)
        root = options.pop(ROOT, root)  # type: ignore[assignment]
        check_policy(written)
        duplicates = written if duplicates is None else duplicates
        if features is not None and SOURCES[name] is table:
            options["fitted"] = features
        base = data_root() if root is None else Path(root).expanduser()
        with on_the_cpu(), nullcontext() if duplicates is None else without_duplicate_check():
            data = SOURCES[name](root=base, split=split, **options)
            data = data if few is None else _equidistant(data, few)
    if duplicates is not None:
        report_duplicates(data.inputs, data.label, data.index, data.class_names, duplicates, stacklevel=3)
    return data


def _checked_spec(spec: object) -> tuple[str, dict[str, Any]]:
    """Name and options of a known source; ValueError for unknown ones."""
    if not isinstance(spec, str):
        raise TypeError(f"data must be a spec string or LabelledData, got {type(spec).__name__}")
    if (source := source_of_path(spec)) is not None:
        raise ValueError(f"{spec!r} is a path, not a source: write {source}")
    name, options = parse_source(spec)
    if name == IN_MEMORY:
        raise ValueError(f"{spec} was passed in Python and cannot be loaded again: pass data=...")
    if name not in SOURCES:
        raise ValueError(f"unknown source {name!r}{nearest(name, list(SOURCES))}")
    _check_options(name, options)
    return name, options


def _equidistant(data: LabelledData, count: object) -> LabelledData:
    """``count`` equidistant samples, or all samples of smaller data."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 2:
        raise ValueError(f"samples={count!r} must be a whole number of at least 2")
    if count >= len(data):
        return data
    return data.subset([number * (len(data) - 1) // (count - 1) for number in range(count)])


def _check_options(name: str, options: dict[str, Any]) -> None:
    parameters = inspect.signature(SOURCES[name]).parameters
    known = [word for word in parameters if word not in (ROOT, "split", "dataset", "fitted")]
    everywhere = [POLICY, SAMPLES, *([ROOT] if name in MANUAL_DOWNLOADS else [])]
    for option in options:
        if option not in (*known, *everywhere):
            raise ValueError(f"{name} has no option {option!r}{nearest(option, [*known, *everywhere])}")
    for word in known:
        if parameters[word].default is inspect.Parameter.empty and word not in options:
            raise ValueError(f'{name} needs {word}=..., as in {name}({word}="...")')
