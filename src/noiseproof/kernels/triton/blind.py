# mypy: ignore-errors
r"""Triton: the loss of a row under labels drawn blindly, :math:`B=\sum_k \pi_k\,\ell(\Delta_k)`.

With :math:`a_k = \pi_k\,emphasis(\Delta_k)/(1-p_k)` its gradient is :math:`p_j\sum_k a_k - a_j`. A class with
more than three quarters of the row, the sure one, is left out of the sums and added exactly.
"""

import triton
import triton.language as tl

from .blind_rows import numbers_of
from .join import store_sum
from .mean import take_last
from .rows import rows_of_program
from .shares import part_of_prior


@triton.jit
def blind_kernel(
    logits,
    target,
    keep,
    prior,
    state,
    found,
    values,
    partials,
    slopes,
    ticket,
    mean,
    count,
    rows,
    classes,
    row_stride,
    column_stride,
    ignore_index,
    beta,
    weight,
    COMBINE: tl.constexpr,
    SUM_ROWS: tl.constexpr,
    JOIN: tl.constexpr,
    JOINED: tl.constexpr,
    SLOTS: tl.constexpr,
    MEAN: tl.constexpr,
    COUNTED: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    HAS_PRIOR: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """``found`` gets B, the factor of the softmax over the others, the gradient at label and sure class.

    ``COMBINE`` makes the loss of it: see ``combined``. ``SLOTS`` add another: see ``join``.
    """
    of = rows_of_program(target, keep, rows, ignore_index, HAS_KEEP, ROWS)
    row, _, kept = of
    sizes = (rows, classes, row_stride, column_stride)
    results = numbers_of(
        of, logits, prior, state, sizes, HAS_PRIOR, CONTIGUOUS, CODE, RESULTS, ROWS, LANES, WIDTH
    )
    store_numbers(found, results, row, kept, rows)
    if COMBINE > 0:
        factor = part_of_prior(prior, classes, beta, COUNTED)
        loss = whole_loss(values, partials, results[0], factor, row, kept, COMBINE)
        if len(SLOTS) > 0:
            store_sum(values, slopes, loss, state, weight, row, kept, rows, SUM_ROWS, JOIN, JOINED, SLOTS)
        else:
            store_loss(values, slopes, loss, row, kept, rows)
        take_last(values, slopes, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def store_numbers(found, results, row, kept, rows):
    for k in tl.static_range(len(results)):
        tl.store(found + k * rows + row, tl.where(kept, results[k], 0.0), mask=row < rows)


@triton.jit
def whole_loss(values, partials, blind, factor, row, kept, COMBINE: tl.constexpr):
    """Value and derivatives by margin and B, while ``values`` and ``partials`` still are the label's."""
    own = tl.load(values + row, mask=kept, other=0.0)
    by_margin = tl.load(partials + row, mask=kept, other=0.0)
    value, by_own, by_blind = combined(own, blind, factor, COMBINE)
    return value, by_own * by_margin, by_blind


@triton.jit
def combined(own, blind, factor, COMBINE: tl.constexpr):
    """Own loss less ``factor`` times B (1) or over B (2), and the derivatives with respect to both."""
    if COMBINE == 1:
        return own - factor * blind, own * 0.0 + 1.0, own * 0.0 - factor
    else:
        value = tl.div_rn(own, blind)
        return value, tl.div_rn(own * 0.0 + 1.0, blind), tl.div_rn(-value, blind)


@triton.jit
def store_loss(values, slopes, loss, row, kept, rows):
    tl.store(values + row, tl.where(kept, loss[0], 0.0), mask=row < rows)
    tl.store(slopes + row, tl.where(kept, loss[1], 0.0), mask=row < rows)
    tl.store(slopes + rows + row, tl.where(kept, loss[2], 0.0), mask=row < rows)
