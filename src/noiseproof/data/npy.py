"""One array of a .npy file, mapped: its header is checked against the file before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import open_regular
from .npy_header import NpyHeader
from .npz import checked_header, damage_named


def map_npy(path: str | Path, verb: str = "read") -> NDArray[Any]:
    """The array as a memory map; ValueError if the file is damaged, not a regular one, or holds objects."""
    with damage_named(path, verb=verb), open_regular(path) as file:
        header = checked_header(file, os.fstat(file.fileno()).st_size)
        return mapped(path, header, 0)


def mapped(path: str | Path, header: NpyHeader, start: int) -> NDArray[Any]:
    """The array whose header begins at byte ``start``."""
    if header.nbytes == 0:
        return np.empty(header.shape, header.dtype)
    order: Any = "F" if header.fortran else "C"
    return np.memmap(
        path, header.dtype, mode="r", offset=start + header.start, shape=header.shape, order=order
    )
