# mypy: ignore-errors
"""Triton: which label every row is given when it is the peer of another.

Rows that count are numbered and sorted by random keys of their numbers, from ``noiseproof.counter``, then met
in that order: a row's place is the number of counted rows with a smaller key, or an equal one further up.
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
def keys_of(number, counts, begin):
    """What rows are sorted by: the upper 30 bits, so that differences fit into 32."""
    return tl.where(counts, (random_numbers(number.to(tl.int64), begin) >> KEY_SHIFT).to(tl.int32), LAST)


@triton.jit
def numbered(start, before, target, rows, ignore_index, BLOCK: tl.constexpr):
    """Which rows of a block count, their numbers, and how many of all rows count up to there."""
    row = start + tl.arange(0, BLOCK)
    counts = tl.load(target + row, mask=row < rows, other=ignore_index) != ignore_index
    number = before + tl.arange(0, BLOCK)
    if tl.max(((row < rows) & ~counts).to(tl.int32), 0) > 0:
        number = before + tl.cumsum(counts.to(tl.int32), 0) - 1
    return counts, number, before + tl.sum(counts.to(tl.int32), 0)


@triton.jit
def counted_before(end, target, ignore_index, BLOCK: tl.constexpr):
    """How many rows before ``end`` count."""
    found = tl.zeros([BLOCK], tl.int32)
    for start in range(0, end, BLOCK):
        row = start + tl.arange(0, BLOCK)
        found += (tl.load(target + row, mask=row < end, other=ignore_index) != ignore_index).to(tl.int32)
    return tl.sum(found, 0)


@triton.jit
def keys_kernel(target, step, keys, rows, ignore_index, first_begin, second_begin, BLOCK: tl.constexpr):
    """``keys`` (2, N) gets those of both orders."""
    start = tl.program_id(0) * BLOCK
    before = counted_before(start, target, ignore_index, BLOCK)
    counts, number, _ = numbered(start, before, target, rows, ignore_index, BLOCK)
    row, epoch = start + tl.arange(0, BLOCK), tl.load(step) * EPOCH
    tl.store(keys + row, keys_of(number, counts, epoch + first_begin), mask=row < rows)
    tl.store(keys + rows + row, keys_of(number, counts, epoch + second_begin), mask=row < rows)


@triton.jit
def keys_from(
    start, before, target, keys, rows, ignore_index, begins, DRAWN: tl.constexpr, BLOCK: tl.constexpr
):
    """Both keys of every row of a block, and ``before`` for the next; rows that do not count come last."""
    if DRAWN:
        row = start + tl.arange(0, BLOCK)
        first = tl.load(keys + row, mask=row < rows, other=LAST)
        return first, tl.load(keys + rows + row, mask=row < rows, other=LAST), before
    else:
        counts, number, after = numbered(start, before, target, rows, ignore_index, BLOCK)
        return keys_of(number, counts, begins[0]), keys_of(number, counts, begins[1]), after


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
    first, epoch = tl.program_id(0) * BLOCK, tl.load(step) * EPOCH
    begins = (epoch + first_begin, epoch + second_begin)
    seen = 0 if DRAWN else counted_before(first, target, ignore_index, OTHERS)
    own = keys_from(first, seen, target, keys, rows, ignore_index, begins, DRAWN, BLOCK)
    row, near, seen = first + tl.arange(0, BLOCK), first // OTHERS * OTHERS, 0
    before = (tl.zeros([BLOCK, OTHERS], tl.int32), tl.zeros([BLOCK, OTHERS], tl.int32))
    for start in range(0, near, OTHERS):
        found = keys_from(start, seen, target, keys, rows, ignore_index, begins, DRAWN, OTHERS)
        before, seen = with_lower(before, found, own[0][:, None] + 1, own[1][:, None] + 1), found[2]
    found = keys_from(near, seen, target, keys, rows, ignore_index, begins, DRAWN, OTHERS)
    equal = (near + tl.arange(0, OTHERS)[None, :] < row[:, None]).to(tl.int32)
    before, seen = with_lower(before, found, own[0][:, None] + equal, own[1][:, None] + equal), found[2]
    for start in range(near + OTHERS, rows, OTHERS):
        found = keys_from(start, seen, target, keys, rows, ignore_index, begins, DRAWN, OTHERS)
        before, seen = with_lower(before, found, own[0][:, None], own[1][:, None]), found[2]
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
