"""A .npy file of rows whose number is not known before they are written."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray


class GrowingNpy:
    """Appends blocks of rows; ``finish`` writes their number into the header, until then the file has none.

    Example:
        >>> file = io.BytesIO()
        >>> rows = GrowingNpy(file, row_shape=(2,), dtype=np.float32)
        >>> rows.write(np.zeros((3, 2)))
        >>> rows.finish()
        >>> _ = file.seek(0)
        >>> np.load(file).shape
        (3, 2)
    """

    def __init__(self, file: IO[bytes], row_shape: tuple[int, ...], dtype: Any) -> None:
        self.file, self.row_shape, self.dtype = file, row_shape, np.dtype(dtype)
        self.rows = 0
        self.start = len(self._header())
        file.write(b"\0" * self.start)

    def write(self, block: NDArray[Any]) -> None:
        if block.shape[1:] != self.row_shape:
            raise ValueError(f"rows of shape {block.shape[1:]} after rows of shape {self.row_shape}")
        self.file.write(np.ascontiguousarray(block, self.dtype).tobytes())
        self.rows += len(block)

    def finish(self) -> None:
        header = self._header()
        if len(header) != self.start:  # numpy leaves room for 21 digits
            raise ValueError(f"the header of {self.rows} rows does not fit")
        self.file.seek(0)
        self.file.write(header)

    def _header(self) -> bytes:
        text = io.BytesIO()
        shape = (self.rows, *self.row_shape)
        facts = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(text, facts)  # type: ignore[no-untyped-call]
        return text.getvalue()
