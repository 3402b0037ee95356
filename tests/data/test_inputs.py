"""Streamed inputs: only requested rows are read, and invalid values are reported when they are read."""

import tracemalloc

import numpy as np
import pytest
import torch

from noiseproof.data import LabelledData, LazyInputs
from noiseproof.data.inputs import Selection, select, streams


class Counted:
    """Lazy inputs that record the positions that were read."""

    def __init__(self, count):
        self.count, self.seen = count, []

    def __len__(self):
        return self.count

    def read(self, positions):
        self.seen += positions.tolist()
        return torch.from_numpy(positions.astype(np.float32))[:, None]


def test_only_requested_rows_are_read():
    lazy = Counted(10)
    assert isinstance(lazy, LazyInputs)
    data = LabelledData(lazy, [0, 1] * 5)
    assert lazy.seen == []
    assert data.subset([9, 3, 5]).batch([2, 0]).input.flatten().tolist() == [5, 9]
    assert lazy.seen == [5, 9]


def test_memory_map_larger_than_the_allocated_memory(tmp_path):
    path = tmp_path / "x.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (200_000, 128))
    mapped[123_456] = 7
    del mapped
    assert path.stat().st_size > 100_000_000
    mapped = np.load(path, mmap_mode="r")
    labels = np.arange(len(mapped)) % 2
    tracemalloc.start()
    try:
        batch = LabelledData(mapped, labels).batch([123_456, 0])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert batch.input.sum(1).tolist() == [7 * 128, 0]
    assert peak < 12_000_000


def test_streamed_values_are_checked_when_read(tmp_path):
    array = np.zeros((5, 2), np.float32)
    array[3, 1] = np.nan
    np.save(tmp_path / "x.npy", array)
    data = LabelledData(
        np.load(tmp_path / "x.npy", mmap_mode="r"), [0, 1, 0, 1, 0], index=[10, 11, 12, 13, 14]
    )
    assert streams(data.subset([3]).inputs)
    data.batch([0, 1, 2, 4])
    with pytest.raises(ValueError, match="sample 13 contains nan"):
        data.batch([0, 3])


MAX_FLOAT32 = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("make", [torch.from_numpy, lambda array: array])
def test_value_beyond_float32_is_reported_with_its_position(make):
    array = np.zeros((5, 2, 3))
    array[3, 1, 2] = -1e300
    with pytest.raises(
        ValueError, match=r"sample 13 \(at position 3\) contains -1e\+300 at \[1, 2\], .* 3\.4e\+38: scale"
    ):
        LabelledData(make(array), [0, 1, 0, 1, 0], index=[10, 11, 12, 13, 14])
    array[3, 1, 2] = MAX_FLOAT32
    assert LabelledData(make(array), [0, 1, 0, 1, 0]).batch([3]).input.float().isfinite().all()


def test_value_beyond_float32_in_a_vector_of_scalars():
    with pytest.raises(ValueError, match=r"sample 1 contains 3\.41e\+38, which exceeds the largest float32"):
        LabelledData(np.array([0, 3.41e38]), [0, 1])


def test_streamed_value_beyond_float32_is_reported_when_read(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [3.0, 1e39]]))
    data = LabelledData(np.load(tmp_path / "x.npy", mmap_mode="r"), [0, 1])
    data.batch([0])
    with pytest.raises(ValueError, match=r"sample 1 contains 1e\+39 at \[1\], which exceeds"):
        data.batch([1])


def test_a_selection_of_a_selection_is_flat():
    array = np.arange(10)
    twice = select(select(array, np.array([5, 6, 7])), np.array([2, 0]))
    assert isinstance(twice, Selection)
    assert twice.base is array
    assert twice.read(np.array([0, 1])).tolist() == [7, 5]
