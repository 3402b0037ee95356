"""The first bytes of a .npy file."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.lib import format as npy


class Readable(Protocol):
    """A file, as far as a header needs it."""

    def read(self, size: int = ..., /) -> bytes: ...

    def tell(self) -> int: ...


class NpyHeader(NamedTuple):
    """What a .npy file says of its array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """Bytes before the values."""

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: Readable) -> NpyHeader:
    """Shape, order and type of the array that follows; nothing is allocated for it.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.save(file, np.zeros((2, 3), np.uint8))
        >>> _ = file.seek(0)
        >>> read_header(file)
        NpyHeader(shape=(2, 3), fortran=False, dtype=dtype('uint8'), start=128)
    """
    version = npy.read_magic(file)  # type: ignore[no-untyped-call]
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"npy format {version} is not known here")
    shape, fortran, dtype = read(file)  # type: ignore[no-untyped-call]
    if any(side < 0 for side in shape):
        raise ValueError(f"the shape {shape} has a side below 0")
    return NpyHeader(shape, fortran, dtype, file.tell())
