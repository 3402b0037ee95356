"""Launching the sum of a loss of row statistics and one over its blind loss."""

from __future__ import annotations

from torch import Tensor

from .join import join_kernel
from .launch import First, steps_of
from .start import start

ROWS = 128
SLOPE_ROWS = 5
"""Derivatives with respect to margin and blind loss, then the factor of exp(z - peak), shift and label."""


def join(first: First, slots: tuple[int, ...], values: Tensor, slopes: Tensor, weight: float) -> None:
    """``values`` (N,) and ``slopes`` (5, N) of the second loss become those of the sum."""
    arguments = (*first[:1], first.partials, first.values, values, slopes, len(values), weight, slots, ROWS)
    start(join_kernel, (steps_of(len(values), ROWS), 1, 1), 4, arguments)
