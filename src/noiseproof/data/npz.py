"""Arrays from .npz files: no pickles, and no allocation that the file does not back."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MOST_BYTES = 1 << 33


def read_npz(path: str | Path, keys: Sequence[str]) -> list[NDArray[Any]]:
    """These arrays of the file, in order; a missing key is an error that lists the ones there are."""
    try:
        with zipfile.ZipFile(path) as archive:
            present = {name.removesuffix(".npy"): name for name in archive.namelist()}
            for key in keys:
                if key not in present:
                    raise ValueError(f"it has no array {key!r} (it has: {', '.join(sorted(present))})")
            return [_array(archive, present[key]) for key in keys]
    except (zipfile.BadZipFile, EOFError, ValueError) as problem:
        raise ValueError(f"cannot read {path}: {problem}") from None


def _array(archive: zipfile.ZipFile, member: str) -> NDArray[Any]:
    size = archive.getinfo(member).file_size
    if size > MOST_BYTES:
        raise ValueError(f"{member} has {size} bytes unpacked, more than {MOST_BYTES}")
    with archive.open(member) as file:
        shape, dtype = _header(file)
        if dtype.hasobject:
            raise ValueError(f"{member} holds Python objects, which are never unpickled")
        if math.prod(shape) * dtype.itemsize > size:
            raise ValueError(f"{member} says shape {shape} of {dtype} but has only {size} bytes")
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        return array


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)  # type: ignore[no-untyped-call]
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"npy format {version} is not known here")
    shape, _, dtype = read(file)  # type: ignore[no-untyped-call]
    return shape, dtype
