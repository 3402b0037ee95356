"""Class-conditional noise with a transition matrix of the user, or one counted on Clothing1M."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ..data.locations import data_root
from ..data.sources.real_world import clothing1m_counts
from .arrays import Floats, Integers, as_numpy
from .asymmetric import split_matrix
from .base import ClassNoise
from .read import read_array

IN_MEMORY = "<array sha256:"


@dataclass(frozen=True)
class Matrix(ClassNoise):
    r"""Noise with a given transition matrix.

    Transition:
        :math:`T_{ij}` = P(given j | clean i), a (K, K) array, or the path of a npy, npz, csv or json file;
        no entry is negative, every row sums to 1 within 1e-6 and is then normalised.
    Example:
        >>> Matrix([[0.75, 0.25], [0.0, 1.0]]).transition(2)
        array([[0.75, 0.25],
               [0.  , 1.  ]])

    Reference:
        Patrini et al., CVPR 2017; Northcutt, Jiang & Chuang, Confident Learning, JAIR 2021
    """

    name = "matrix"
    source: object
    key: str | None = None
    values: Floats = field(init=False, repr=False, compare=False)
    given: tuple[tuple[float, ...], ...] | None = field(init=False, repr=False, compare=False)
    """The array, for the manifest; None for a file."""

    def __post_init__(self) -> None:
        from_file = isinstance(self.source, (str, Path))
        if str(self.source).startswith(IN_MEMORY) and from_file:
            raise ValueError(
                f"{self.name}: {str(self.source)!r} stands for an array that was in memory: pass the (K, K)"
                " array itself, or the manifest that holds it, as in get(manifest)"
            )
        array = read_array(str(self.source), self.key) if from_file else as_numpy(self.source)
        object.__setattr__(self, "values", as_transition(array))
        exact = None if from_file else tuple(map(tuple, array.astype(np.float64).tolist()))
        object.__setattr__(self, "given", exact)
        digest = hashlib.sha256(self.values.tobytes()).hexdigest()[:16]
        object.__setattr__(self, "source", str(self.source) if from_file else f"{IN_MEMORY}{digest}>")

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        return _split(self.name, self.values, num_classes)

    def __str__(self) -> str:
        key = "" if self.key is None else f", key={json.dumps(self.key)}"
        return f"{self.name}({json.dumps(self.source)}{key})"


@dataclass(frozen=True)
class Clothing1M(ClassNoise):
    r"""The noise of Clothing1M, with a matrix counted over its images that have a noisy and a clean label.

    Transition:
        :math:`T_{ij}` = share of the noisy label j among the images with the clean label i, (14, 14), over
        the images of ``clean_train_key_list.txt`` with a label in ``noisy_label_kv.txt``: none of the
        validation or test data. The lists are read when the matrix is needed, from ``root`` or the data
        folder.
    Example:
        >>> print(Clothing1M(root="photos"))
        clothing1m("photos")

    Reference:
        Xiao et al., Learning from Massive Noisy Labeled Data for Image Classification, CVPR 2015
    """

    name = "clothing1m"
    root: str | None = None

    @cached_property
    def values(self) -> Floats:
        counts = clothing1m_counts(data_root() if self.root is None else Path(self.root).expanduser())
        return np.asarray(counts / counts.sum(1, keepdims=True))

    def by_class(self, num_classes: int, groups: Integers | None, seed: int) -> tuple[Floats, Floats]:
        return _split(self.name, self.values, num_classes)


def _split(name: str, values: Floats, num_classes: int) -> tuple[Floats, Floats]:
    if len(values) != num_classes:
        raise ValueError(f"{name}: a matrix of {len(values)} classes does not fit num_classes={num_classes}")
    return split_matrix(values)


def as_transition(values: object) -> Floats:
    """A checked transition matrix in float64; raises ValueError for the first invalid row.

    >>> as_transition([[0.5, 0.4], [0.0, 1.0]])
    Traceback (most recent call last):
    ValueError: row 0 of the transition matrix sums to 0.9, not to 1: divide each row by its sum
    """
    array = as_numpy(values)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise ValueError(f"a transition matrix must have shape (K, K) with K >= 2, got {array.shape}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"a transition matrix must hold numbers, got {array.dtype}")
    matrix = array.astype(np.float64)
    bad = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"transition[{row}, {column}] = {matrix[row, column]} is not a probability")
    sums = matrix.sum(1)
    off = np.flatnonzero(np.abs(sums - 1) > 1e-6)
    if off.size:
        raise ValueError(
            f"row {off[0]} of the transition matrix sums to {sums[off[0]]:.6g}, not to 1:"
            " divide each row by its sum"
        )
    return np.asarray(matrix / sums[:, None])
