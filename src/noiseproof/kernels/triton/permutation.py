# mypy: ignore-errors
"""Triton: which label every row is given when it is the peer of another.

Rows are sorted by random keys, from ``noiseproof.counter``, and then met in that order: a row's place is the
number of counted rows with a smaller one, or an equal one further up.
"""

import triton
import triton.language as tl

from ...counter import EPOCH as _EPOCH
from ...counter import KEY_SHIFT as _KEY_SHIFT
from ...counter import ROUNDS as _ROUNDS
from ...counter import SAMPLE as _SAMPLE

SAMPLE = tl.constexpr(_SAMPLE)
EPOCH = tl.constexpr(_EPOCH)
FIRST_BITS, FIRST_FACTOR = tl.constexpr(_ROUNDS[0][0]), tl.constexpr(_ROUNDS[0][1])
SECOND_BITS, SECOND_FACTOR = tl.constexpr(_ROUNDS[1][0]), tl.constexpr(_ROUNDS[1][1])
LAST_BITS = tl.constexpr(31)
ONES = tl.constexpr((1 << 63) - 1)
KEY_SHIFT = tl.constexpr(_KEY_SHIFT)
LAST = tl.constexpr(1 << 30)
"""Above every key, but not so far that a difference would not fit into 32 bits."""


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
def keys_of(row, counts, begin):
    """What rows are sorted by: the upper 30 bits, so that differences fit into 32."""
    return tl.where(counts, (random_numbers(row.to(tl.int64), begin) >> KEY_SHIFT).to(tl.int32), LAST)


@triton.jit
def keys_kernel(target, step, keys, rows, ignore_index, first_begin, second_begin, BLOCK: tl.constexpr):
    """``keys`` (2, N) gets those of both orders."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.load(target + row, mask=row < rows, other=ignore_index) != ignore_index
    epoch = tl.load(step) * EPOCH
    tl.store(keys + row, keys_of(row, counts, epoch + first_begin), mask=row < rows)
    tl.store(keys + rows + row, keys_of(row, counts, epoch + second_begin), mask=row < rows)


@triton.jit
def keys_from(row, target, keys, rows, ignore_index, begins, DRAWN: tl.constexpr):
    """Both keys of every row; those that do not count come last."""
    if DRAWN:
        first = tl.load(keys + row, mask=row < rows, other=LAST)
        return first, tl.load(keys + rows + row, mask=row < rows, other=LAST)
    else:
        counts = tl.load(target + row, mask=row < rows, other=ignore_index) != ignore_index
        return keys_of(row, counts, begins[0]), keys_of(row, counts, begins[1])


@triton.jit
def permutation_kernel(
    target,
    step,
    keys,
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

    ``DRAWN``: the keys are there already, which pays for many rows. Rows further up come first of those with
    equal keys, so but for one block the comparison is the same for all rows of a program.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    epoch = tl.load(step) * EPOCH
    begins = (epoch + first_begin, epoch + second_begin)
    own = keys_from(row, target, keys, rows, ignore_index, begins, DRAWN)
    near = tl.program_id(0) * BLOCK // OTHERS * OTHERS
    before = (tl.zeros([BLOCK, OTHERS], tl.int32), tl.zeros([BLOCK, OTHERS], tl.int32))
    for start in range(0, near, OTHERS):
        found = keys_from(start + tl.arange(0, OTHERS), target, keys, rows, ignore_index, begins, DRAWN)
        before = with_lower(before, found, own[0][:, None] + 1, own[1][:, None] + 1)
    other = near + tl.arange(0, OTHERS)
    found = keys_from(other, target, keys, rows, ignore_index, begins, DRAWN)
    equal = (other[None, :] < row[:, None]).to(tl.int32)
    before = with_lower(before, found, own[0][:, None] + equal, own[1][:, None] + equal)
    for start in range(near + OTHERS, rows, OTHERS):
        found = keys_from(start + tl.arange(0, OTHERS), target, keys, rows, ignore_index, begins, DRAWN)
        before = with_lower(before, found, own[0][:, None], own[1][:, None])
    kept = own[0] != LAST
    tl.store(places + row, tl.sum(before[0], 1), mask=kept)
    label = tl.load(target + row, mask=kept, other=0)
    tl.store(labels + tl.sum(before[1], 1), label, mask=kept)


@triton.jit
def with_lower(before, keys, limit, mate_limit):
    """Counts (BLOCK, OTHERS) of both orders, one more where a key is below the limit."""
    return before[0] + sign_of(keys[0][None, :] - limit), before[1] + sign_of(keys[1][None, :] - mate_limit)


@triton.jit
def sign_of(number):
    return (number.to(tl.uint32, bitcast=True) >> 31).to(tl.int32, bitcast=True)
