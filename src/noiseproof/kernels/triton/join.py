# mypy: ignore-errors
"""Triton: a loss of row statistics added to one over its blind loss, row by row."""

import triton
import triton.language as tl

from .gradient import LOGSUMEXP, MARGIN, SUM_Z
from .mean import take_last
from .program import logsigmoid, run, sigmoid
from .rows import rows_of_program


@triton.jit
def join_kernel(
    target,
    keep,
    state,
    joined,
    slopes,
    ticket,
    mean,
    count,
    rows,
    ignore_index,
    weight,
    MEAN: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    SUM_ROWS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """``joined`` becomes the program's value and ``weight`` times what it was, ``slopes`` the derivatives.

    ``state`` holds margin, peak and mass, and in ``SUM_ROWS``, if any, sum of z and number of classes.
    """
    row, _, kept = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, BLOCK)
    there = row < rows
    margin = tl.load(state + row, mask=there, other=0.0)
    registers = run(inputs_of(margin, state, row, there, rows, SUM_ROWS), CODE)
    value = tl.where(kept, registers[RESULTS[0]], 0.0) + weight * tl.load(joined + row, mask=there)
    tl.store(joined + row, value, mask=there)
    for k in tl.static_range(2):
        place = slopes + k * rows + row
        tl.store(place, weight * tl.load(place, mask=there), mask=there)
    at_label, others, shift = slopes_of(margin, registers, RESULTS, SLOTS)
    mass = tl.load(state + 2 * rows + row, mask=there, other=1.0)
    by_mass = tl.where(mass == 0.0, 0.0, others / mass)
    tl.store(slopes + 2 * rows + row, tl.where(kept, by_mass, 0.0), mask=there)
    tl.store(slopes + 3 * rows + row, tl.where(kept, shift, 0.0), mask=there)
    tl.store(slopes + 4 * rows + row, tl.where(kept, at_label, 0.0), mask=there)
    take_last(joined, joined, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def inputs_of(margin, state, row, there, rows, SUM_ROWS: tl.constexpr):
    """The registers the program starts with, as in ``statistics``; it asks for no sum of p squared or p z."""
    if len(SUM_ROWS) == 0:
        return (margin,)
    else:
        sum_z = tl.load(state + SUM_ROWS[0] * rows + row, mask=there, other=0.0)
        present = tl.load(state + SUM_ROWS[1] * rows + row, mask=there, other=1.0)
        nothing = tl.zeros_like(margin)
        return margin, -logsigmoid(margin), sum_z, nothing, nothing, present


@triton.jit
def slopes_of(margin, registers, RESULTS: tl.constexpr, SLOTS: tl.constexpr):
    """What label, others (their sum) and all classes get, as ``gradient.coefficients`` has it."""
    at_label = registers[RESULTS[1 + SLOTS[MARGIN]]] if SLOTS[MARGIN] >= 0 else tl.zeros_like(margin)
    others, shift = -at_label, tl.zeros_like(margin)
    if SLOTS[LOGSUMEXP] >= 0:
        by_logsumexp = registers[RESULTS[1 + SLOTS[LOGSUMEXP]]]
        at_label += sigmoid(margin) * by_logsumexp
        others += sigmoid(-margin) * by_logsumexp
    if SLOTS[SUM_Z] >= 0:
        shift = registers[RESULTS[1 + SLOTS[SUM_Z]]]
        at_label += shift
    return at_label, others, shift


@triton.jit
def joined_slopes(slopes, row, kept, rows, scale, MORE: tl.constexpr):
    """Of the loss of row statistics: the factor of exp(z - peak), what all classes get, and the label."""
    if MORE:
        factor = tl.load(slopes + 2 * rows + row, mask=kept, other=0.0)
        shift = tl.load(slopes + 3 * rows + row, mask=kept, other=0.0)
        return factor * scale, shift * scale, tl.load(slopes + 4 * rows + row, mask=kept, other=0.0) * scale
    else:
        return scale * 0.0, scale * 0.0, scale * 0.0
