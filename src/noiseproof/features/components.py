"""Leading components of a sparse matrix, scaled by a common factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

ROWS_PER_COMPONENT = 3
MIN_COMPONENTS = 10
"""Number of components for small numbers of rows."""


class Components:
    """Truncated singular value decomposition, or all columns if there are few.

    The result is centred and divided by one number, so that its entries have a mean square of 1. Columns are
    not standardised separately, which would scale up the last components, which are mostly noise.

    Shape:
        matrix (n, m) sparse; axes (k, m) or None for all m columns; output (n, k)
    """

    def __init__(self, axes: NDArray[Any] | None, mean: NDArray[Any], scale: float) -> None:
        self.axes, self.mean, self.scale = axes, mean, scale

    @classmethod
    def none(cls, width: int) -> Components:
        """The identity: all columns, unscaled."""
        return cls(None, np.zeros(width, np.float32), 1.0)

    @classmethod
    def fit(cls, matrix: csr_matrix, dimensions: int, seed: int) -> Components:
        from sklearn.utils.extmath import randomized_svd

        rows, width = matrix.shape
        max_components = min(dimensions, max(min(rows, MIN_COMPONENTS), rows // ROWS_PER_COMPONENT))
        axes = None
        if width > max_components:
            axes = randomized_svd(matrix, max_components, random_state=seed, n_iter=5)[2].astype(np.float32)
        plain = cls(axes, np.zeros(width if axes is None else max_components, np.float32), 1.0)
        centred = cls.centred(plain.scaled(matrix))
        return cls(axes, centred.mean, centred.scale)

    @classmethod
    def centred(cls, block: NDArray[np.float32]) -> Components:
        """Mean and scale of a dense block."""
        mean = block.mean(0)
        spread = float(np.sqrt(np.mean((block - mean) ** 2)))
        return cls(None, mean, spread if spread > 1e-6 else 1.0)

    @property
    def width(self) -> int:
        return len(self.mean)

    def scaled(self, matrix: csr_matrix) -> NDArray[np.float32]:
        return self.scaled_dense(matrix.toarray() if self.axes is None else np.asarray(matrix @ self.axes.T))

    def scaled_dense(self, block: NDArray[Any]) -> NDArray[np.float32]:
        return np.asarray((block.astype(np.float32) - self.mean) / np.float32(self.scale))

    def arrays(self) -> dict[str, NDArray[Any]]:
        kept = {} if self.axes is None else {"axes": self.axes}
        return {"mean": self.mean, "scale": np.array([self.scale]), **kept}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Components:
        return cls(arrays.get("axes"), arrays["mean"], float(arrays["scale"][0]))
