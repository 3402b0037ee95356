# mypy: ignore-errors
"""Triton: which rows and columns a program works on."""

import triton
import triton.language as tl


@triton.jit
def columns_from(start, column_stride, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    """Numbers of the columns of a block and their offsets in memory."""
    column = start + tl.arange(0, BLOCK)
    if CONTIGUOUS:
        return column, column
    else:
        return column, column.to(tl.int64) * column_stride


@triton.jit
def columns_of(start, LANES: tl.constexpr, WIDTH: tl.constexpr):
    """Numbers of the columns of a block, WIDTH neighbours to a lane: as much as one load brings."""
    return start + tl.arange(0, LANES)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]


@triton.jit
def rows_of_program(target, keep, rows, ignore_index, HAS_KEEP: tl.constexpr, ROWS: tl.constexpr):
    """Rows of this program, their labels, and which exist and count."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    label = tl.load(target + row, mask=row < rows, other=0)
    if HAS_KEEP:
        kept = tl.load(keep + row, mask=row < rows, other=0) != 0
    else:
        kept = (row < rows) & (label != ignore_index)
    return row, label, kept
