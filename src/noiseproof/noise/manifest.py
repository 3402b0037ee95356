"""The manifest: how noisy labels were generated, so that they can be verified or generated again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..atomic import write_text
from ..files import MAX_JSON_BYTES, parse_json, read_bytes
from .arrays import Integers, as_labels

FORMAT_VERSION = 2
ADDED = {2: {"matrix"}}
"""Entries that were added in each format version."""


@dataclass(frozen=True)
class Manifest:
    """How noisy labels were generated.

    ``rate`` is the requested rate (None where the noise has no rate), ``realised_rate`` and ``class_rates``
    are the rates of the labels (None for a class without samples). The hashes are sha256 of the labels as
    little-endian int64. ``matrix`` is the transition matrix if one was given as an array: ``get(manifest)``
    returns the same noise.

    Example:
        >>> from noiseproof import noise
        >>> clean = [0, 1, 2] * 10
        >>> noisy = noise.corrupt(clean, "symmetric(0.3)", num_classes=3, seed=0, exact="per_class")
        >>> noisy.manifest.realised_rate
        0.3
        >>> noisy.manifest.verify(clean, noisy.labels)
    """

    spec: str
    seed: int
    num_classes: int
    count: int
    exact: bool | str
    rate: float | None
    inclusive: bool
    realised_rate: float
    class_rates: tuple[float | None, ...]
    open_set_count: int
    groups: tuple[int, ...] | None
    index_sha256: str | None
    """None where the indices are 0, 1, 2, ..."""
    clean_sha256: str
    noisy_sha256: str
    matrix: tuple[tuple[float, ...], ...] | None = None
    format_version: int = FORMAT_VERSION

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        try:
            content = parse_json(text)
        except ValueError as problem:
            raise ValueError(f"a noise manifest must be valid JSON: {problem}") from None
        return cls(**_checked(cls, content))

    def save(self, path: str | Path) -> None:
        """Write the manifest as json, atomically."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Manifest:
        return cls.from_json(read_bytes(path, MAX_JSON_BYTES).decode("utf-8"))

    def verify(self, clean: object, noisy: object) -> None:
        """Raise ValueError with the differences unless the manifest describes these labels."""
        arrays = (
            as_labels(clean, self.num_classes, "clean labels"),
            as_labels(noisy, self.num_classes, "noisy labels"),
        )
        found = describe(*arrays, self.num_classes)
        wrong = [
            f"{name} is {value!r}, but {getattr(self, name)!r} in the manifest"
            for name, value in found.items()
            if value != getattr(self, name)
        ]
        if wrong:
            raise ValueError("the labels differ from the manifest: " + "; ".join(wrong))


def describe(clean: Integers, noisy: Integers, num_classes: int) -> dict[str, Any]:
    """The entries of a manifest that are computed from two label arrays."""
    if clean.shape != noisy.shape:
        raise ValueError(f"{len(clean)} clean labels do not fit {len(noisy)} noisy labels")
    totals = np.bincount(clean, minlength=num_classes)
    wrong = np.bincount(clean[clean != noisy], minlength=num_classes)
    return {
        "count": len(clean),
        "realised_rate": float(np.mean(clean != noisy)) if len(clean) else 0.0,
        "class_rates": tuple(float(w / n) if n else None for w, n in zip(wrong, totals, strict=True)),
        "clean_sha256": sha256(clean),
        "noisy_sha256": sha256(noisy),
    }


def sha256(labels: Integers) -> str:
    """Hash of whole numbers, which does not depend on their dtype and layout.

    >>> sha256(np.arange(3)) == sha256(np.array([0, 1, 2], dtype="uint8"))
    True
    """
    return hashlib.sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes()).hexdigest()


def _checked(kind: type[Manifest], content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError(f"a noise manifest must be a JSON object, got {type(content).__name__}")
    version = content.get("format_version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ValueError(
            f"noise manifest of format {version!r}: this version reads formats 1 to {FORMAT_VERSION}"
        )
    later = {name for number, added in ADDED.items() if number > version for name in added}
    names = {field.name for field in dataclasses.fields(kind)} - later
    if set(content) != names:
        missing, extra = sorted(names - set(content)), sorted(set(content) - names)
        raise ValueError(f"noise manifest with missing entries {missing} and unknown entries {extra}")
    return {name: _frozen(value) for name, value in content.items()}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """Labels after noise, on the CPU."""

    labels: Tensor
    """(N,) int64, the given labels."""
    flipped: Tensor
    """(N,) bool, True where the given label differs from the clean one."""
    transition: Tensor
    """(K, K) float64, ``transition[i, j]`` = realised share of given j among clean i."""
    manifest: Manifest
    open_set: Tensor | None = None
    """(N,) bool, samples whose input is to be replaced; None except for open-set noise."""

    def __len__(self) -> int:
        return len(self.labels)
