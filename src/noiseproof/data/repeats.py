"""Samples with exactly the same input: a cheap checksum of all, a strong hash of those that agree in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .inputs import Inputs, LazyInputs, read_rows

AT_ONCE = 256
"""Samples read together where they come from files."""
BYTES_AT_ONCE = 1 << 20
"""Memory looked at together, which should stay in the cache of the processor."""
WORD = 8
MIX = np.uint64(0x9E3779B97F4A7C15)


def first_occurrences(inputs: Inputs) -> NDArray[np.int64]:
    """For each sample the position of the first one with the same bytes, which may be itself.

    Example:
        >>> first_occurrences(torch.tensor([[1, 2], [3, 4], [1, 2]]))
        array([0, 1, 0])
    """
    first = np.arange(len(inputs))
    sums = np.concatenate([np.empty(0, np.uint64), *(checksums(rows) for rows in _pieces(inputs, first))])
    ordered = np.sort(sums)
    alike = np.flatnonzero(np.isin(sums, ordered[1:][ordered[1:] == ordered[:-1]]))
    _, where, inverse = np.unique(sums[alike], return_index=True, return_inverse=True)
    first[alike] = alike[where][inverse]
    pairs = zip(_pieces(inputs, alike), _pieces(inputs, first[alike]), strict=True)
    same = [np.empty(0, bool), *((later == earlier).all(1) for later, earlier in pairs)]
    other = alike[~np.concatenate(same)]
    if len(other):  # different inputs of one checksum
        unsure = np.flatnonzero(np.isin(sums, sums[other]))
        first[unsure] = unsure[_first_by_digest(inputs, unsure)]
    return first


def _first_by_digest(inputs: Inputs, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same among some samples, slowly; numbers count these samples."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    for rows in _pieces(inputs, positions):
        for row in rows:
            digest = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
            first.append(seen.setdefault(digest, len(first)))
    return np.array(first, np.int64)


def checksums(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """One 64-bit number for each row of bytes, the same for the same bytes.

    Words are mixed before they are weighted and added: those of floats often end in many zero bits, which
    a sum alone would keep.
    """
    width = -(-rows.shape[1] // WORD) * WORD
    if width != rows.shape[1]:
        rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
    words = np.ascontiguousarray(rows).view(np.uint64)
    words = (words ^ (words >> np.uint64(32))) * MIX
    words ^= words >> np.uint64(29)
    weights = np.random.default_rng(0).integers(0, 2**64, words.shape[1], np.uint64) | np.uint64(1)
    sums: NDArray[np.uint64] = words @ weights
    return sums


def _pieces(inputs: Inputs, positions: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """Bytes of these samples, (some, bytes of one)."""
    step = AT_ONCE if isinstance(inputs, LazyInputs) else max(1, BYTES_AT_ONCE // _row_bytes(inputs))
    for start in range(0, len(positions), step):
        some = positions[start : start + step]
        rows = read_rows(inputs, some).cpu().reshape(len(some), -1).contiguous()
        yield rows.view(torch.uint8).numpy()


def _row_bytes(inputs: Tensor | NDArray[Any]) -> int:
    return max(1, inputs.nbytes // max(1, len(inputs)))
