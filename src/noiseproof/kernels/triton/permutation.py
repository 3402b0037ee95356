# mypy: ignore-errors
"""Triton: which label every row is given when it is the peer of another.

Rows are sorted by random numbers, those of ``noiseproof.counter``, and then met in that order: a row's place
is the number of counted rows with a smaller one, or an equal one further up.
"""

import triton
import triton.language as tl

from ...counter import EPOCH as _EPOCH
from ...counter import ROUNDS as _ROUNDS
from ...counter import SAMPLE as _SAMPLE

SAMPLE = tl.constexpr(_SAMPLE)
EPOCH = tl.constexpr(_EPOCH)
FIRST_BITS, FIRST_FACTOR = tl.constexpr(_ROUNDS[0][0]), tl.constexpr(_ROUNDS[0][1])
SECOND_BITS, SECOND_FACTOR = tl.constexpr(_ROUNDS[1][0]), tl.constexpr(_ROUNDS[1][1])
LAST_BITS = tl.constexpr(31)
ONES = tl.constexpr((1 << 63) - 1)


@triton.jit
def shifted_right(number, BITS: tl.constexpr):
    """Shift that fills with zeros, as for unsigned integers."""
    return (number >> BITS) & (ONES >> (BITS - 1))


@triton.jit
def random_numbers(row, begin):
    """``counter.draw`` of rows, where ``begin`` has seed, epoch and stream in it; all int64."""
    number = row * SAMPLE + begin
    number = (number ^ shifted_right(number, FIRST_BITS)) * FIRST_FACTOR
    number = (number ^ shifted_right(number, SECOND_BITS)) * SECOND_FACTOR
    return number ^ shifted_right(number, LAST_BITS)


@triton.jit
def numbers_kernel(step, numbers, rows, first_begin, second_begin, BLOCK: tl.constexpr):
    """``numbers`` (2, N) gets the random numbers of both orders."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    epoch = tl.load(step) * EPOCH
    tl.store(numbers + row, random_numbers(row, epoch + first_begin), mask=row < rows)
    tl.store(numbers + rows + row, random_numbers(row, epoch + second_begin), mask=row < rows)


@triton.jit
def rows_before(number, row, other_number, other, counts):
    """How many of the counted other rows come before each row."""
    lower = other_number[None, :] < number[:, None]
    equal = other_number[None, :] == number[:, None]
    earlier = lower | (equal & (other[None, :] < row[:, None]))
    return tl.sum((earlier & counts[None, :]).to(tl.int32), 1)


@triton.jit
def numbers_of(row, numbers, rows, begins, DRAWN: tl.constexpr):
    """Both random numbers of every row."""
    if DRAWN:
        first = tl.load(numbers + row, mask=row < rows, other=0)
        return first, tl.load(numbers + rows + row, mask=row < rows, other=0)
    else:
        return random_numbers(row, begins[0]), random_numbers(row, begins[1])


@triton.jit
def permutation_kernel(
    target,
    step,
    numbers,
    places,
    labels,
    rows,
    ignore_index,
    first_begin,
    second_begin,
    DRAWN: tl.constexpr,
    BLOCK: tl.constexpr,
    OTHERS: tl.constexpr,
):
    """``places`` gets every row's place in the first order, ``labels`` the labels in the second.

    ``DRAWN``: the random numbers are there already, which pays for many rows.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(target + row, mask=row < rows, other=0)
    kept = (row < rows) & (label != ignore_index)
    epoch = tl.load(step) * EPOCH
    begins = (epoch + first_begin, epoch + second_begin)
    first, second = numbers_of(row, numbers, rows, begins, DRAWN)
    place, mate_place = tl.zeros([BLOCK], tl.int32), tl.zeros([BLOCK], tl.int32)
    for start in range(0, rows, OTHERS):
        other = start + tl.arange(0, OTHERS).to(tl.int64)
        counts = other < rows
        counts = counts & (tl.load(target + other, mask=counts, other=0) != ignore_index)
        other_first, other_second = numbers_of(other, numbers, rows, begins, DRAWN)
        place += rows_before(first, row, other_first, other, counts)
        mate_place += rows_before(second, row, other_second, other, counts)
    tl.store(places + row, place, mask=kept)
    tl.store(labels + mate_place, label, mask=kept)
