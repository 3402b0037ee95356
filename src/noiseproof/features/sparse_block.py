"""Encode sparse matrices: TF-IDF of counts, and leading components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .components import Components

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]


class SparseBlock:
    """TF-IDF of counts; ``idf`` holds inverse document frequencies, None for values that are not counts.

    Such values are multiplied by ``factor``, which is 1 unless their squares are out of the range of float32.

    Shape:
        matrix (n, m) sparse; sparse (n, m) float32; output (n, components) float32
    """

    def __init__(self, idf: NDArray[Any] | None, components: Components, factor: float = 1.0) -> None:
        self.idf, self.components, self.factor = idf, components, factor

    @classmethod
    def fit(cls, matrix: csr_matrix, dimensions: int, seed: int) -> SparseBlock:
        values = _finite(matrix)
        counts = bool((values.data >= 0).all() and (values.data == np.round(values.data)).all())
        seen = np.bincount(values.indices[values.data != 0], minlength=values.shape[1])
        idf = np.log((1 + values.shape[0]) / (1 + seen)) + 1
        none = Components.none(values.shape[1])
        block = cls(idf.astype(np.float32), none) if counts else cls(None, none, _factor(values.data))
        block.components = Components.fit(block.sparse(matrix), dimensions, seed)
        return block

    def sparse(self, matrix: csr_matrix) -> csr_matrix:
        """TF-IDF values of counts, with rows of norm 1; other values times ``factor``."""
        from sklearn.preprocessing import normalize

        values, largest = _finite(matrix), np.finfo(np.float32).max
        with np.errstate(over="ignore"):  # infinite, then clipped
            values.data = (values.data * self.factor).clip(-largest, largest)
        values = values.astype(np.float32)
        if self.idf is None:
            return values
        positive = np.maximum(values.data, 0)
        values.data = np.where(positive > 0, 1 + np.log(np.maximum(positive, 1e-30)), 0).clip(0)
        weighted = values.multiply(self.idf[None, :]).tocsr().astype(np.float32)
        return normalize(weighted)

    def scaled(self, matrix: csr_matrix) -> NDArray[np.float32]:
        return self.components.scaled(self.sparse(matrix))

    def arrays(self) -> dict[str, NDArray[Any]]:
        kept = {} if self.idf is None else {"idf": self.idf}
        if self.factor != 1:
            kept["factor"] = np.array([self.factor])
        return {**kept, **self.components.arrays()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> SparseBlock:
        factor = float(arrays["factor"][0]) if "factor" in arrays else 1.0
        return cls(arrays.get("idf"), Components.from_arrays(arrays), factor)


def _factor(values: NDArray[np.float64]) -> float:
    """The power of two that makes the largest value about 1, if it is very large or very small."""
    largest = float(np.abs(values).max(initial=0))
    if largest == 0 or 1e-6 < largest < 1e6:
        return 1.0
    return float(np.exp2(min(-np.log2(largest).round(), 1023)))


def _finite(matrix: Any) -> csr_matrix:
    """A copy in float64; values that are not finite become 0."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    values = csr_matrix(matrix, dtype=np.float64, copy=True)
    values.sum_duplicates()
    values.data = np.nan_to_num(values.data, nan=0.0, posinf=0.0, neginf=0.0)
    return values
