"""Random numbers that are a pure function of (seed, index, stream).

A counter is hashed (Steele, Lea & Flood's splitmix64 finaliser, twice), so the random number of a
sample does not depend on the number of samples, on their order, or on the state of a generator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats, Integers

SELECTION, DESTINATION, PAIRS, REPLACEMENT, INSTANCE_RATE, PROJECTION = range(6)
"""Streams: one for each kind of draw."""

_STEP = 0x9E3779B97F4A7C15
_WORD = 2**64


def as_seed(seed: object) -> int:
    """``seed`` as an int in [0, 2**64)."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be a whole number, got {seed!r}")
    if not 0 <= int(seed) < _WORD:
        raise ValueError(f"seed={seed} is out of range, it must satisfy 0 <= seed < 2**64")
    return int(seed)


def random_bits(seed: int, index: Integers, stream: int) -> NDArray[np.uint64]:
    """64 random bits for every index.

    >>> bool(random_bits(0, np.arange(9), 0)[4] == random_bits(0, np.array([4]), 0)[0])
    True
    """
    key = _scramble(np.array([(seed + _STEP * (stream + 1)) % _WORD], dtype=np.uint64))
    counter = index.astype(np.uint64) * np.uint64(_STEP) + key
    return _scramble(_scramble(counter) ^ key)


def uniform(seed: int, index: Integers, stream: int) -> Floats:
    """Uniform numbers in [0, 1), multiples of 2**-53."""
    numbers: Floats = (random_bits(seed, index, stream) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers


def normal(seed: int, index: Integers, stream: int) -> Floats:
    """Standard normal numbers, by Box and Muller."""
    radius = np.sqrt(-2 * np.log1p(-uniform(seed, 2 * index, stream)))
    return np.asarray(radius * np.cos(2 * np.pi * uniform(seed, 2 * index + 1, stream)))


def _scramble(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))
