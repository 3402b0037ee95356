"""Samples with exactly the same input, and whether their labels agree."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch

from .labelled import LabelledData

AT_ONCE = 256


@dataclass(frozen=True)
class Duplicate:
    """A sample whose input was seen before; ``first`` and ``second`` are permanent indices."""

    first: int
    second: int
    first_label: int
    second_label: int

    @property
    def conflicting(self) -> bool:
        """The same input under two labels: at least one is wrong."""
        return self.first_label != self.second_label

    def __str__(self) -> str:
        labels = f"labels {self.first_label} and {self.second_label}" if self.conflicting else "same label"
        return f"sample {self.second} repeats sample {self.first} ({labels})"


def find_duplicates(data: LabelledData) -> list[Duplicate]:
    """Every sample that repeats an earlier one byte for byte, in order; hashes all inputs once.

    Example:
        >>> data = LabelledData(torch.tensor([[1, 2], [3, 4], [1, 2]]), [0, 1, 1])
        >>> print(*find_duplicates(data))
        sample 2 repeats sample 0 (labels 0 and 1)
    """
    seen: dict[bytes, tuple[int, int]] = {}
    found = []
    for start in range(0, len(data), AT_ONCE):
        batch = data.batch(slice(start, start + AT_ONCE), device="cpu")
        rows = batch.input.reshape(len(batch.label), -1).contiguous().view(torch.uint8).numpy()
        for row, label, index in zip(rows, batch.label.tolist(), batch.index.tolist(), strict=True):
            digest = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
            first, first_label = seen.setdefault(digest, (index, label))
            if first != index:
                found.append(Duplicate(first, index, first_label, label))
    return found
