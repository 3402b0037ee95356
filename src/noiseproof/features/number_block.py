"""Robust standardisation of columns of numbers, with imputed and marked missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CLIP = 8.0
"""Standardised values are clipped at this many standard deviations."""
TAIL = 0.005
"""Share of the values at either end that is clipped for mean and standard deviation."""
FLOAT32_MAX = float(np.finfo(np.float32).max)


class NumberBlock:
    """Standardisation by mean and standard deviation of each column, robust to extreme values.

    For a column with missing values in training, an indicator column is added; missing values are replaced by
    the mean. ``one_scale`` uses one mean and one standard deviation for all columns, such as pixels.

    Shape:
        values (n, k) float64, NaN for missing; output (n, k + columns with missing values)
    """

    def __init__(self, mean: NDArray[Any], scale: NDArray[Any], gaps: NDArray[Any]) -> None:
        self.mean, self.scale, self.gaps = mean, scale, gaps

    @classmethod
    def fit(
        cls,
        values: NDArray[np.float64],
        *,
        marked: NDArray[Any] | None = None,
        one_scale: bool = False,
    ) -> NumberBlock:
        """Fit to training values; indicator columns are added only for ``marked`` columns, by default all."""
        missing = np.isnan(values)
        if one_scale:
            known = values[~missing]
            mean, deviation = _mean_and_deviation(known) if known.size else (0.0, 1.0)
            width = values.shape[1]
            return cls(np.full(width, mean), np.full(width, deviation or 1.0), np.zeros(width, bool))
        moments = [_moments(column[~gaps]) for column, gaps in zip(values.T, missing.T, strict=True)]
        mean_of, scale_of = np.array(moments, np.float64).reshape(-1, 2).T
        gaps = np.asarray(missing.any(0))
        return cls(mean_of, scale_of, gaps if marked is None else np.logical_and(gaps, marked))

    def names(self, columns: list[str]) -> list[str]:
        """Names of the output columns."""
        marked = [name for name, gap in zip(columns, self.gaps, strict=True) if gap]
        return [*columns, *(f"{name} is missing" for name in marked)]

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standardised values; a missing value is 0, the mean."""
        with np.errstate(over="ignore"):  # infinite after division, then clipped
            standard = (values - self.mean) / self.scale
        return self._marked(np.nan_to_num(np.clip(standard, -CLIP, CLIP), nan=0.0), values)

    def unscaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values without standardisation, NaN if missing; those beyond the range of float32 are clipped."""
        return self._marked(np.clip(values, -FLOAT32_MAX, FLOAT32_MAX), values)

    def _marked(self, block: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.hstack([block, np.isnan(values[:, self.gaps]).astype(np.float64)])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"mean": self.mean, "scale": self.scale, "gaps": self.gaps}


def _moments(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation with clipped tails, unless that leaves a single value."""
    if not len(values):
        return 0.0, 1.0
    inner = np.clip(values, *np.quantile(values, [TAIL, 1 - TAIL]))
    for chosen in (inner, values):
        mean, deviation = _mean_and_deviation(chosen)
        if deviation > 1e-12 * float(np.abs(chosen).max()):
            return mean, deviation
    return _mean_and_deviation(values)[0], 1.0


def _mean_and_deviation(values: NDArray[np.float64]) -> tuple[float, float]:
    """Computed of values divided by a power of two, whose squares neither overflow nor become 0."""
    exponent = int(np.frexp(np.abs(values).max())[1])
    unit = np.ldexp(values, -exponent)
    return float(np.ldexp(unit.mean(), exponent)), float(np.ldexp(unit.std(), exponent))
