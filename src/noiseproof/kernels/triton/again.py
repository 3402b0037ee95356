# mypy: ignore-errors
"""Triton: rows that a series does not do for. There are few or none, so a program looks through many rows."""

import triton
import triton.language as tl

from .blind import store_loss, store_numbers, whole_loss
from .blind_rows import numbers_of
from .join import store_sum
from .mean import take_last
from .rows import labelled


@triton.jit
def rows_apart(NUMBER: tl.constexpr):
    """Rows of this program, as many apart as there are programs: neighbours often are alike."""
    return tl.program_id(0).to(tl.int64) + tl.arange(0, NUMBER) * tl.num_programs(0)


@triton.jit
def next_of(wanted, start):
    """The first place from ``start`` on that is wanted, or how many places there are."""
    place = tl.arange(0, wanted.shape[0])
    return tl.min(tl.where(wanted & (place >= start), place, wanted.shape[0]), 0)


@triton.jit
def row_at(place, target, keep, rows, ignore_index, HAS_KEEP: tl.constexpr):
    """One of ``rows_apart``, its label, and whether it counts."""
    row = tl.program_id(0).to(tl.int64) + (place + tl.arange(0, 1)) * tl.num_programs(0)
    return labelled(row, target, keep, rows, ignore_index, HAS_KEEP)


@triton.jit
def blind_again_kernel(
    logits,
    target,
    keep,
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
    weight,
    SUM_ROWS: tl.constexpr,
    JOIN: tl.constexpr,
    JOINED: tl.constexpr,
    SLOTS: tl.constexpr,
    MEAN: tl.constexpr,
    HAS_KEEP: tl.constexpr,
    CONTIGUOUS: tl.constexpr,
    CODE: tl.constexpr,
    RESULTS: tl.constexpr,
    NUMBER: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """As ``blind_kernel`` for rows ``series_kernel`` left; then all are there to be joined and added up."""
    row = rows_apart(NUMBER)
    left = tl.load(state + 3 * rows + row, mask=row < rows, other=0.0) == 1.0
    sizes = (rows, classes, row_stride, column_stride)
    place = next_of(left, 0)
    while place < NUMBER:
        of = row_at(place, target, keep, rows, ignore_index, HAS_KEEP)
        results = numbers_of(
            of, logits, state, state, sizes, False, CONTIGUOUS, CODE, RESULTS, 1, LANES, WIDTH
        )
        store_numbers(found, results, of[0], of[2], rows)
        loss = whole_loss(values, partials, results[0], 1.0, of[0], of[2], 2)
        store_loss(values, slopes, loss, of[0], of[2], rows)
        place = next_of(left, place + 1)
    if len(SLOTS) > 0:
        tl.debug_barrier()
        row, _, kept = labelled(row, target, keep, rows, ignore_index, HAS_KEEP)
        loss = stored(values, slopes, row, kept, rows)
        store_sum(values, slopes, loss, state, weight, row, kept, rows, SUM_ROWS, JOIN, JOINED, SLOTS)
    take_last(values, slopes, target, ticket, mean, count, rows, ignore_index, MEAN)


@triton.jit
def stored(values, slopes, row, kept, rows):
    """What ``store_loss`` stored."""
    value = tl.load(values + row, mask=kept, other=0.0)
    by_margin = tl.load(slopes + row, mask=kept, other=0.0)
    return value, by_margin, tl.load(slopes + rows + row, mask=kept, other=0.0)
