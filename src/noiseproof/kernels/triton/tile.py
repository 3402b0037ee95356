"""How the work of a kernel is cut into programs."""

from __future__ import annotations

import functools
from typing import NamedTuple

from torch import Tensor

BYTES_PER_LOAD = 16
FEWEST_PROGRAMS = 128
MANY_ROWS = 1024
MOST_SHAPES = 4096


class Tile(NamedTuple):
    """How much one program holds at a time."""

    rows: int
    block: int
    warps: int
    blocks: int = 1
    """Blocks of a row one program of the gradient writes; the statistics need the whole row."""


@functools.lru_cache(MOST_SHAPES)
def tile_of(classes: int, batch: int) -> Tile:
    """Fixed sizes, measured on an H200: small rows are taken together, large ones block by block.

    Of a small batch fewer rows are, so that every program is soon done; of a large one rows between the two
    are read block by block as well, by few warps, since all would do what there is to do once a row.
    """
    if classes > 2048:
        return Tile(1, 2048, 4, 8)
    if classes > 512 and batch >= MANY_ROWS:
        return Tile(1, 512, 2)
    block = max(16, 1 << (classes - 1).bit_length())
    rows = max(1, min(16, 1024 // block, 1 << (batch // FEWEST_PROGRAMS).bit_length() >> 1))
    return Tile(rows, block, max(1, min(4, rows * block // 256)))


def steps_of(length: int, step: int) -> int:
    return -(-length // step)


def width_of(logits: Tensor) -> int:
    """How many of them one load brings."""
    return BYTES_PER_LOAD // logits.element_size()
