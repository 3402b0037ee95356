"""The idx format of MNIST and its relatives, plain or gzipped; sizes are checked before they are trusted."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 1 << 32
STEP = 1 << 20


def read_idx(path: str | Path, *, dimensions: int) -> NDArray[np.uint8]:
    """The array of an idx file of unsigned bytes.

    The file is: two zero bytes, 8 (unsigned byte), the number of dimensions, each side as a big-endian
    32-bit integer, then exactly as many bytes as the sides multiply to.
    """
    try:
        with _opened(Path(path)) as file:
            return _array(file, dimensions)
    except (EOFError, OSError, ValueError) as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        raise ValueError(f"{path} is no whole idx file of {dimensions} dimensions: {problem}") from None


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")


def _array(file: BinaryIO, dimensions: int) -> NDArray[np.uint8]:
    header = _exactly(file, 4 + 4 * dimensions)
    expected = bytes([0, 0, 8, dimensions])
    if header[:4] != expected:
        raise ValueError(f"it starts with {header[:4].hex()} instead of {expected.hex()}")
    shape = [int(side) for side in np.frombuffer(header, ">u4", offset=4)]
    count = math.prod(shape)
    if count > MOST_BYTES:
        raise ValueError(f"shape {shape} is larger than {MOST_BYTES} bytes")
    content = _exactly(file, count)
    if file.read(1):
        raise ValueError(f"there are bytes after the {count} that shape {shape} needs")
    return np.frombuffer(content, np.uint8).reshape(shape)


def _exactly(file: BinaryIO, count: int) -> bytes:
    """Reads in steps, so that a file that lies about its size costs no memory."""
    parts = []
    missing = count
    while missing:
        part = file.read(min(STEP, missing))
        if not part:
            raise ValueError(f"it ends {missing} bytes too early")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
