# mypy: ignore-errors
"""Triton: the rows and columns a program works on."""

import triton
import triton.language as tl

LOWEST = tl.constexpr(float("-inf"))
BEYOND = tl.constexpr(2**31 - 1)


@triton.jit
def places_of(begin, start, column_stride, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    """Addresses of the entries of a block, (ROWS, BLOCK)."""
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
    """Logits (ROWS, BLOCK) in float32, -inf beyond the classes; a WHOLE block needs no mask."""
    place = places_of(begin, start, column_stride, CONTIGUOUS, BLOCK)
    if WHOLE:
        return tl.load(place).to(tl.float32)
    else:
        here = kept[:, None] & (tl.arange(0, BLOCK) < classes - start)[None, :]
        return tl.load(place, mask=here, other=LOWEST).to(tl.float32)


@triton.jit
def store_part(place, entries, start, exists, kept, classes):
    """Store the entries (ROWS, BLOCK) that exist; ignored rows become 0."""
    there = exists[:, None] & (tl.arange(0, place.shape[1]) < classes - start)[None, :]
    tl.store(place, tl.where(kept[:, None], entries, 0.0), mask=there)


@triton.jit
def put_at(entries, start, label, number, BLOCK: tl.constexpr):
    """Entries (ROWS, BLOCK) with one number per row in place of that at its label."""
    is_label = tl.arange(0, BLOCK)[None, :] == (label.to(tl.int32) - start)[:, None]
    return tl.where(is_label, number[:, None], entries)


@triton.jit
def next_label(label, start):
    """The first column from ``start`` on that is a label: blocks that end before it need no comparison."""
    return tl.min(tl.where(label >= start, label, BEYOND), 0).to(tl.int32)


@triton.jit
def blocks_of_program(kept, classes, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Start of the blocks of program (i, k), end of those that need no mask, and end of all.

    All of them need a mask if a row is ignored.
    """
    begin = tl.program_id(1) * (BLOCKS * BLOCK)
    end = tl.minimum(begin + BLOCKS * BLOCK, classes)
    return begin, begin + (end - begin) // BLOCK * BLOCK * tl.min(kept.to(tl.int32), 0), end


@triton.jit
def columns_of(start, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Column numbers of a block, WIDTH adjacent ones per lane: as many as one load instruction reads."""
    return start + tl.arange(0, LANES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]


@triton.jit
def rows_of_program(target, keep, rows, ignore_index, HAS_KEEP: tl.constexpr, ROWS: tl.constexpr):
    """The rows of this program, their labels, and which of them exist and are not ignored."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
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
    """Logits (ROWS, LANES, WIDTH) in float32, -inf beyond the classes."""
    z = load_block(begin, start, kept, classes, column_stride, CONTIGUOUS, WHOLE, LANES * WIDTH)
    return tl.reshape(z, [z.shape[0], LANES, WIDTH])


@triton.jit
def without_label(z, start, label, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Logits with -inf at the label of every row."""
    column = columns_of(start, LANES, WIDTH)
    is_label = column[None, :, :] == label.to(tl.int32)[:, None, None]
    return tl.where(is_label, LOWEST, z)
