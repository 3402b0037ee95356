"""Find repeated inputs in data, and warn about them or raise an error."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .inputs import Inputs, LazyInputs, RawInputs, read_rows, streams

POLICIES = ("ignore", "warn", "error")
CHEAP_BYTES, CHEAP_SAMPLES = 1 << 28, 1 << 19
"""Largest inputs that are searched by default."""
SHOWN = 3
_search_disabled: ContextVar[bool] = ContextVar("duplicate search disabled", default=False)
SAMPLES_PER_READ = 256
"""Number of samples read together from files."""
MAX_KEY_BYTES = 64
"""Inputs up to this number of bytes are compared directly, longer ones by their digests."""
BYTES_PER_CHUNK = 1 << 20
"""Bytes processed together, which should fit in the cache of the processor."""


@contextmanager
def without_duplicate_check() -> Iterator[None]:
    """Context without the default search, for a caller that searches once with its own policy."""
    token = _search_disabled.set(True)
    try:
        yield
    finally:
        _search_disabled.reset(token)


def check_policy(policy: str | None) -> None:
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"duplicates={policy!r} is unknown, choose one of {', '.join(POLICIES)}")


def report_duplicates(
    inputs: Inputs,
    label: Tensor,
    index: Tensor,
    class_names: Sequence[str],
    policy: str | None,
    *,
    stacklevel: int,
) -> None:
    """Warn or raise by ``policy``; None warns of equal inputs under different labels, if that is cheap to
    find and the input is not constant."""
    check_policy(policy)
    if policy == "ignore" or (policy is None and (_search_disabled.get() or not is_cheap(inputs))):
        return
    inputs = inputs.cells() if isinstance(inputs, RawInputs) else inputs
    pairs = Pairs.of(inputs)
    if policy is None:
        pairs = _without_placeholders(inputs, pairs.conflicting(label))
    if len(pairs):
        shown = [pair.with_names(class_names) for pair in pairs.described(label, index, SHOWN)]
        message = _message(shown, len(pairs))
        if policy == "error":
            raise ValueError(message)
        warnings.warn(message, stacklevel=stacklevel)


def is_cheap(inputs: Inputs) -> bool:
    """Whether inputs are in main memory and of moderate size."""
    if isinstance(inputs, RawInputs):
        return len(inputs) <= CHEAP_SAMPLES
    if streams(inputs) or not isinstance(inputs, (Tensor, np.ndarray)):
        return False
    nearby = inputs.device.type == "cpu" if isinstance(inputs, Tensor) else True
    return nearby and inputs.nbytes <= CHEAP_BYTES and len(inputs) <= CHEAP_SAMPLES


def _without_placeholders(inputs: Inputs, pairs: Pairs) -> Pairs:
    """The pairs whose input is not constant, such as an empty image."""
    firsts, inverse = np.unique(pairs.first, return_inverse=True)
    varying = [np.empty(0, bool)]
    for start in range(0, len(firsts), SAMPLES_PER_READ):
        rows = read_rows(inputs, firsts[start : start + SAMPLES_PER_READ])
        rows = rows.reshape(len(rows), -1)
        varying.append((rows != rows[:, :1]).any(1).numpy())
    return pairs.where(np.concatenate(varying)[inverse])


def _message(shown: list[str], count: int) -> str:
    more = f"; and {count - len(shown)} more" if count > len(shown) else ""
    return (
        f"{'; '.join(shown)}{more}: keep one of each (noiseproof.data.find_duplicates(data) lists"
        ' them), or add duplicates="ignore" to the data, as in csv(path="rows.csv", duplicates="ignore")'
    )


@dataclass(frozen=True)
class Duplicate:
    """A pair of samples with equal inputs; ``first`` and ``second`` are permanent numbers."""

    first: int
    second: int
    first_label: int
    second_label: int

    @property
    def conflicting(self) -> bool:
        """Whether the labels differ, so that at least one of them is wrong."""
        return self.first_label != self.second_label

    def __str__(self) -> str:
        return self._text(self.first_label, self.second_label)

    def with_names(self, class_names: Sequence[str]) -> str:
        """The pair as text, with class names."""
        return self._text(class_names[self.first_label], class_names[self.second_label])

    def _text(self, first_label: object, second_label: object) -> str:
        labels = f"labels {first_label} and {second_label}" if self.conflicting else "same label"
        return f"sample {self.second} repeats sample {self.first} ({labels})"


class Pairs:
    """Positions ``second`` of all samples whose input equals that of an earlier one, at ``first``."""

    def __init__(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        self.first, self.second = first, second

    @classmethod
    def of(cls, inputs: Inputs) -> Pairs:
        first = first_occurrences(inputs)
        second = np.flatnonzero(first != np.arange(len(first)))
        return cls(first[second], second)

    def __len__(self) -> int:
        return len(self.second)

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.first[chosen], self.second[chosen])

    def conflicting(self, label: Tensor) -> Pairs:
        """Those whose labels differ."""
        labels = label.cpu().numpy()
        return self.where(labels[self.first] != labels[self.second])

    def described(self, label: Tensor, index: Tensor, limit: int | None = None) -> list[Duplicate]:
        """The first ``limit`` pairs with permanent numbers and labels, in the order of ``second``."""
        first, second = self.first[:limit], self.second[:limit]
        columns = [index[first], index[second], label[first], label[second]]
        return [Duplicate(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def first_occurrences(inputs: Inputs) -> NDArray[np.int64]:
    """For each sample the position of the first one with the same bytes, which may be itself.

    Example:
        >>> first_occurrences(torch.tensor([[1, 2], [3, 4], [1, 2]]))
        array([0, 1, 0])
    """
    seen: dict[bytes, int] = {}
    first: list[int] = []
    for rows in _byte_chunks(inputs):
        content, width = rows.tobytes(), rows.shape[1]
        for start in range(0, len(rows) * width, width) if width else [0] * len(rows):
            row = content[start : start + width]
            key = row if width <= MAX_KEY_BYTES else hashlib.blake2b(row, digest_size=16).digest()
            first.append(seen.setdefault(key, len(first)))
    return np.array(first, np.int64)


def _byte_chunks(inputs: Inputs) -> Iterator[NDArray[np.uint8]]:
    """Iterate over chunks of the samples as bytes, (samples, bytes per sample)."""
    step = (
        SAMPLES_PER_READ if isinstance(inputs, LazyInputs) else max(1, BYTES_PER_CHUNK // _row_bytes(inputs))
    )
    for start in range(0, len(inputs), step):
        some = np.arange(start, min(start + step, len(inputs)))
        rows = read_rows(inputs, some).cpu().reshape(len(some), -1).contiguous()
        yield rows.view(torch.uint8).numpy()


def _row_bytes(inputs: Tensor | NDArray[Any]) -> int:
    return max(1, inputs.nbytes // max(1, len(inputs)))
