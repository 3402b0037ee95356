# mypy: ignore-errors
"""Triton: which rows and columns a program works on."""

import triton
import triton.language as tl

LOWEST = tl.constexpr(float("-inf"))
BEYOND = tl.constexpr(2**31 - 1)


@triton.jit
def places_of(begin, start, column_stride, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    """Where the entries of a block lie, (ROWS, BLOCK)."""
    column = start + tl.arange(0, BLOCK)
    offset = column if CONTIGUOUS else column.to(tl.int64) * column_stride
    return begin[:, None] + offset[None, :]


@triton.jit
def load_block(
    begin,
    start,
    kept,
    classes,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    WHOLE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Logits (ROWS, BLOCK) in float32, -inf outside; a whole block has no outside."""
    place = places_of(begin, start, column_stride, CONTIGUOUS, BLOCK)
    if WHOLE:
        return tl.load(place).to(tl.float32)
    else:
        here = kept[:, None] & (tl.arange(0, BLOCK) < classes - start)[None, :]
        return tl.load(place, mask=here, other=LOWEST).to(tl.float32)


@triton.jit
def store_part(place, entries, start, exists, kept, classes):
    """Write the part of (ROWS, BLOCK) numbers that lies in the rows; those that do not count become 0."""
    there = exists[:, None] & (tl.arange(0, place.shape[1]) < classes - start)[None, :]
    tl.store(place, tl.where(kept[:, None], entries, 0.0), mask=there)


@triton.jit
def put_at(entries, start, label, number, BLOCK: tl.constexpr):
    """Entries (ROWS, BLOCK) with one number per row where its label is."""
    is_label = tl.arange(0, BLOCK)[None, :] == (label.to(tl.int32) - start)[:, None]
    return tl.where(is_label, number[:, None], entries)


@triton.jit
def next_label(label, start):
    """The first column from ``start`` on that is the label of a row: most blocks end before it."""
    return tl.min(tl.where(label >= start, label, BEYOND), 0).to(tl.int32)


@triton.jit
def blocks_of_program(kept, classes, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Where the blocks of program (i, k) begin, where those end that need no mask, and where all end.

    All blocks need one where a row does not count.
    """
    begin = tl.program_id(1) * (BLOCKS * BLOCK)
    end = tl.minimum(begin + BLOCKS * BLOCK, classes)
    return begin, begin + (end - begin) // BLOCK * BLOCK * tl.min(kept.to(tl.int32), 0), end


@triton.jit
def columns_of(start, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Numbers of the columns of a block, WIDTH neighbours to a lane: as much as one load brings."""
    return start + tl.arange(0, LANES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]


@triton.jit
def rows_of_program(target, keep, rows, ignore_index, HAS_KEEP: tl.constexpr, ROWS: tl.constexpr):
    """Rows of this program, their labels, and which exist and count."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return labelled(row, target, keep, rows, ignore_index, HAS_KEEP)


@triton.jit
def labelled(row, target, keep, rows, ignore_index, HAS_KEEP: tl.constexpr):
    """Rows, their labels, and which exist and count."""
    label = tl.load(target + row, mask=row < rows, other=0)
    if HAS_KEEP:
        kept = tl.load(keep + row, mask=row < rows, other=0) != 0
    else:
        kept = (row < rows) & (label != ignore_index)
    return row, label, kept


@triton.jit
def block_of(
    begin,
    start,
    kept,
    classes,
    column_stride,
    CONTIGUOUS: tl.constexpr,
    WHOLE: tl.constexpr,
    LANES: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Logits (ROWS, LANES, WIDTH) in float32, -inf outside.

    Loaded as (ROWS, BLOCK) a thread has the same columns of all rows, and what belongs to them but once.
    """
    z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, WHOLE, LANES * WIDTH)
    return tl.reshape(z, [z.shape[0], LANES, WIDTH])


@triton.jit
def without_label(z, start, label, LANES: tl.constexpr, WIDTH: tl.constexpr):
    return put_in_lanes(z, start, label, tl.full(label.shape, LOWEST, tl.float32), LANES, WIDTH)


@triton.jit
def put_in_lanes(z, start, label, number, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Logits with one number per row where its label is."""
    column = columns_of(start, LANES, WIDTH)
    is_label = column[None, :, :] == label.to(tl.int32)[:, None, None]
    return tl.where(is_label, number[:, None, None], z)
