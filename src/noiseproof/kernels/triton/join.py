# mypy: ignore-errors
"""Triton: a loss of row statistics added to one over its blind loss, row by row."""

import triton
import triton.language as tl

from .gradient import coefficients


@triton.jit
def join_kernel(
    state, partials, values, joined, slopes, rows, weight, SLOTS: tl.constexpr, BLOCK: tl.constexpr
):
    """``joined`` becomes ``values`` and ``weight`` times what it was, ``slopes`` the derivatives of that.

    ``state``, ``partials`` and ``values`` are those of the loss of row statistics, as in ``gradient_kernel``.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = row < rows
    value = tl.load(values + row, mask=there) + weight * tl.load(joined + row, mask=there)
    tl.store(joined + row, value, mask=there)
    for k in tl.static_range(2):
        place = slopes + k * rows + row
        tl.store(place, weight * tl.load(place, mask=there), mask=there)
    one = tl.full([BLOCK], 1.0, tl.float32)
    at_label, others, _, _, shift = coefficients(state, partials, one, row, there, one, rows, SLOTS)
    mass = tl.load(state + 2 * rows + row, mask=there, other=1.0)
    by_mass = tl.where(mass == 0.0, 0.0, others / mass)
    tl.store(slopes + 2 * rows + row, by_mass, mask=there)
    tl.store(slopes + 3 * rows + row, shift, mask=there)
    tl.store(slopes + 4 * rows + row, at_label, mask=there)


@triton.jit
def joined_slopes(slopes, row, kept, rows, scale, MORE: tl.constexpr):
    """Of the loss of row statistics: the factor of exp(z - peak), what all classes get, and the label."""
    if MORE:
        factor = tl.load(slopes + 2 * rows + row, mask=kept, other=0.0)
        shift = tl.load(slopes + 3 * rows + row, mask=kept, other=0.0)
        return factor * scale, shift * scale, tl.load(slopes + 4 * rows + row, mask=kept, other=0.0) * scale
    else:
        return scale * 0.0, scale * 0.0, scale * 0.0
