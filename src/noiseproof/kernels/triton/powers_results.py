# mypy: ignore-errors
"""Triton: loss and gradient of a row from its sums of powers."""

import triton
import triton.language as tl

from .mean import take_last
from .powers_again import SURE, margin_of
from .program import exp, logsigmoid, run, sigmoid
from .rows import rows_of_program
from .shares import part_of_prior, share_of_label

RESULTS = tl.constexpr(6)
"""Rows of the state that the gradient needs."""
SMALL = tl.constexpr(1e-30)
"""Above it the logarithm of a share is that of its quotient, which has one digit more than a difference."""
SUMS = tl.constexpr(10)
"""Rows behind those, of what ``finish`` makes them of later."""


@triton.jit
def powers_finish_kernel(
    target,
    prior,
    values,
    state,
    ticket,
    mean,
    count,
    rows,
    classes,
    ignore_index,
    beta,
    constant,
    MEAN: tl.constexpr,
    COUNTED: tl.constexpr,
    OWN: tl.constexpr,
    OWN_RESULTS: tl.constexpr,
    EXPONENTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
    ROWS: tl.constexpr,
):
    """``finish`` with a thread to a row: where a program reads one row all its threads would do the same."""
    row, label, kept = rows_of_program(target, target, rows, ignore_index, False, ROWS)
    begin, there = state + RESULTS * rows + row, row < rows
    numbers = (
        tl.load(begin, mask=there, other=0.0),
        tl.load(begin + rows, mask=there, other=0.0),
        tl.load(begin + 2 * rows, mask=there, other=1.0),
        tl.load(begin + 3 * rows, mask=there, other=0.0),
        tl.load(begin + 4 * rows, mask=there, other=0.0),
        tl.load(begin + 5 * rows, mask=there, other=0.0),
        tl.load(begin + 6 * rows, mask=there, other=0.0),
        tl.load(begin + 7 * rows, mask=there, other=0.0),
        tl.load(begin + 8 * rows, mask=there, other=0.0),
        tl.load(begin + 9 * rows, mask=there, other=0.0),
    )
    of = (row, label, kept, rows, classes)
    finish(
        numbers, of, prior, values, state, beta, constant, COUNTED, OWN, OWN_RESULTS, EXPONENTS, VALUE, RATIO
    )
    take_last(values, values, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def finish(
    numbers,
    of,
    prior,
    values,
    state,
    beta,
    constant,
    COUNTED: tl.constexpr,
    OWN: tl.constexpr,
    OWN_RESULTS: tl.constexpr,
    EXPONENTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
):
    """``state`` gets a level, the factor of exp(z - level), and the gradient at the label.

    Then it gets log p at the level, the gradient there, and 1 where that is a sure class. ``numbers`` are how
    far the label's logit is above the level, and what ``read_again`` returns.
    """
    row, label, kept, rows, classes = of
    margin = margin_of(numbers[0], numbers[2], kept)
    own_loss = run((margin,), OWN)
    label_share = share_of_label(prior, label, kept & (label >= 0) & (label < classes))
    factor = part_of_prior(prior, classes, beta, COUNTED)
    by_margin = own_loss[OWN_RESULTS[1]]
    results = of_row(numbers, margin, by_margin, label_share, factor, constant, EXPONENTS, VALUE, RATIO)
    value = own_loss[OWN_RESULTS[0]] - factor * results[RESULTS]
    tl.store(values + row, tl.where(kept, value, 0.0), mask=row < rows)
    for k in tl.static_range(RESULTS):
        tl.store(state + k * rows + row, results[k], mask=row < rows)


@triton.jit
def weighed(first, second, FACTORS: tl.constexpr):
    return first * FACTORS[0] + second * FACTORS[1] if len(FACTORS) > 1 else first * FACTORS[0]


@triton.jit
def powers_at(log_p, EXPONENTS: tl.constexpr):
    """Both powers of p; one that is not there is 0."""
    first = exp(log_p * EXPONENTS[0])
    return first, exp(log_p * EXPONENTS[1]) if len(EXPONENTS) > 1 else first * 0.0


@triton.jit
def of_row(
    numbers,
    margin,
    by_margin,
    label_share,
    factor,
    constant,
    EXPONENTS: tl.constexpr,
    VALUE: tl.constexpr,
    RATIO: tl.constexpr,
):
    """The rows of ``state`` and the blind loss."""
    _, level, mass, first, second, shares, below, first_below, second_below, top = numbers
    log_own, rest = logsigmoid(margin), sigmoid(-margin)
    lead = tl.where(mass == 0.0, 0.0, rest / mass)
    log_lead = tl.where(
        lead > SMALL,
        tl.log(tl.maximum(lead, SMALL)),
        logsigmoid(-margin) - tl.log(tl.where(mass == 0.0, 1.0, mass)),
    )
    p, at_own = exp(log_own), powers_at(log_own, EXPONENTS)
    at_lead = powers_at(log_lead, EXPONENTS)
    first, second = first * at_lead[0], second * at_lead[1]
    own_ratio = label_share * weighed(at_own[0], at_own[1], RATIO)
    others = weighed(first, second, RATIO)
    value = weighed(first + label_share * at_own[0], second + label_share * at_own[1], VALUE)
    by_mass = tl.where(mass == 0.0, 0.0, -by_margin / mass)
    at_label = by_margin - factor * (p * others - rest * own_ratio)
    without = weighed(first_below * at_lead[0], second_below * at_lead[1], RATIO) + own_ratio
    at_sure = lead * without - (p + lead * below) * top * weighed(at_lead[0], at_lead[1], RATIO)
    return (
        level,
        by_mass - factor * lead * (others + own_ratio),
        at_label,
        log_lead,
        by_mass - factor * at_sure,
        tl.where(lead > SURE, 1.0, 0.0),
        constant * shares + value,
    )
