"""Which files of a dataset are on disk, and whether they are the official ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ...grammar import nearest
from .catalogue import DATASETS, Dataset


@dataclass(frozen=True)
class Report:
    """Contents of a dataset by state; a file is wrong when its SHA-256 is not the official one."""

    name: str
    folder: Path
    present: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return not self.missing and not self.wrong


def verify(name: str, root: str | Path) -> Report:
    """Read every file of a dataset in ``root/name`` and compare its SHA-256.

    Example:
        >>> verify("cifar100", "/nowhere").missing
        ('cifar-100-binary/train.bin', 'cifar-100-binary/test.bin')
    """
    folder = Path(root) / name
    return report_on(name, dataset_named(name), folder)


def dataset_named(name: str) -> Dataset:
    if name not in DATASETS:
        raise ValueError(f"unknown dataset {name!r}{nearest(name, sorted(DATASETS))}")
    return DATASETS[name]


def report_on(name: str, dataset: Dataset, folder: Path) -> Report:
    """The state of every content of a dataset in a folder."""
    states: dict[str, list[str]] = {"present": [], "missing": [], "wrong": []}
    for content, sha256 in dataset.contents.items():
        found = _content_hash(folder, content)
        states["missing" if found is None else "present" if found == sha256 else "wrong"].append(content)
    return Report(name, folder, *(tuple(states[state]) for state in ("present", "missing", "wrong")))


def _content_hash(folder: Path, content: str) -> str | None:
    """SHA-256 of a file, or of an array in a file; None if there is none."""
    file, _, array = content.partition("#")
    path = folder / file
    if not path.is_file():
        return None
    if array:
        return _array_hash(path, array)
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _array_hash(path: Path, array: str) -> str:
    import numpy as np

    from ..numpy_files import read_npz

    try:
        (found,) = read_npz(path, [array])
    except ValueError:
        return "unreadable"
    return hashlib.sha256(np.ascontiguousarray(found, dtype=np.uint8).tobytes()).hexdigest()
