"""idx files: magic number, sizes and wrong headers."""

import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from noiseproof.data.sources.digits import read_idx


def idx(array, shape=None, kind=8):
    shape = array.shape if shape is None else shape
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + array.tobytes()


ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_plain_and_gzipped_files(pack, tmp_path):
    (tmp_path / "x").write_bytes(pack(idx(ARRAY)))
    assert (read_idx(tmp_path / "x", dimensions=3) == ARRAY).all()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(ARRAY)[:-1], "ends 1 bytes too early"),
        (idx(ARRAY) + b"x", "bytes after the 24"),
        (idx(ARRAY, kind=13), "starts with 00000d03 instead of 00000803"),
        (idx(ARRAY.reshape(6, 4)), "starts with 00000802"),
        (b"", "too early"),
        (idx(ARRAY, shape=(2**32 - 1,) * 3), "larger than"),
        (idx(ARRAY, shape=(1, 65536, 65535)), "too early"),
    ],
)
def test_damage_is_reported_without_large_allocations(pack, content, message, tmp_path):
    (tmp_path / "x-ubyte").write_bytes(pack(content))
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=f"x-ubyte is not a complete idx file of 3 dimensions: .*{message}"
        ):
            read_idx(tmp_path / "x-ubyte", dimensions=3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000


def test_truncated_gzip(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx(ARRAY))[:-10])
    with pytest.raises(ValueError, match=r"x\.gz is not a complete idx file"):
        read_idx(tmp_path / "x.gz", dimensions=3)


def test_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "x", dimensions=3)
