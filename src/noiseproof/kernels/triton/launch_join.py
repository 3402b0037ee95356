"""Launching the sum of a loss of row statistics and one over its blind loss."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ..programs.recorder import Program
from .join import join_kernel
from .launch import Batch, ignored_label
from .launch_blind import given
from .launch_mean import Mean, ending, finish
from .start import start
from .tile import steps_of

ROWS = 128
SLOPE_ROWS = 5
"""Derivatives with respect to margin and blind loss, then the factor of exp(z - peak), shift and label."""


class Rows(NamedTuple):
    """What the loss of row statistics is to be found from."""

    state: Tensor
    """Margin, peak and mass of every row, and perhaps more."""
    sums: tuple[int, ...]
    """Where in it the sum of z, relative to the label, and the number of classes are, if they are wanted."""


def join(
    batch: Batch,
    of: Rows,
    program: Program,
    slots: tuple[int, ...],
    values: Tensor,
    slopes: Tensor,
    weight: float,
    mean: Mean | None = None,
) -> None:
    """``values`` (N,) and ``slopes`` (5, N) of the second loss become those of the sum."""
    (_, *labels), asked = given(batch), ending(mean, values)
    start(
        join_kernel,
        (steps_of(len(values), ROWS), 1, 1),
        4,
        (
            *labels,
            of.state,
            values,
            slopes,
            *asked[:3],
            len(values),
            ignored_label(batch),
            weight,
            asked[3],
            batch.keep is not None,
            of.sums,
            *program,
            slots,
            ROWS,
        ),
    )
    finish(mean, values, values, batch.target, ignored_label(batch))
