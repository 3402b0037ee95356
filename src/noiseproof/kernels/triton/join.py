# mypy: ignore-errors
"""Triton: a loss of row statistics added to one over its blind loss, row by row.

``SUM_ROWS`` are the rows of the state with sum of z and number of classes, if they are wanted, ``JOIN`` and
``JOINED`` code and results of its program, ``SLOTS`` which derivatives these are; nothing is added without.
"""

import triton
import triton.language as tl

from .gradient import LOGSUMEXP, MARGIN, SUM_Z
from .program import logsigmoid, run, sigmoid


@triton.jit
def store_sum(
    values,
    slopes,
    loss,
    state,
    weight,
    row,
    kept,
    rows,
    SUM_ROWS: tl.constexpr,
    JOIN: tl.constexpr,
    JOINED: tl.constexpr,
    SLOTS: tl.constexpr,
):
    """The program's loss and ``weight`` times ``loss``, which is value and derivatives as of ``store_loss``.

    ``state`` holds margin, peak and mass.
    """
    there = row < rows
    margin = tl.load(state + row, mask=there, other=0.0)
    mass = tl.load(state + 2 * rows + row, mask=there, other=1.0)
    registers = run(inputs_of(margin, state, row, there, rows, SUM_ROWS), JOIN)
    at_label, others, shift = slopes_of(margin, registers, JOINED, SLOTS)
    by_mass = tl.where(mass == 0.0, 0.0, others / mass)
    value = registers[JOINED[0]] + weight * loss[0]
    tl.store(values + row, tl.where(kept, value, 0.0), mask=there)
    sums = (weight * loss[1], weight * loss[2], by_mass, shift, at_label)
    for k in tl.static_range(len(sums)):
        tl.store(slopes + k * rows + row, tl.where(kept, sums[k], 0.0), mask=there)


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
