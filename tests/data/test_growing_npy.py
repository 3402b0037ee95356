"""Files of arrays that grow."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data.sources.table_stream import GrowingNpy


@given(st.lists(st.integers(0, 12), max_size=6), st.integers(1, 4), st.sampled_from(["<f4", "<i8"]))
@settings(deadline=None)
def test_blocks_read_back_as_one_array(lengths, width, dtype):
    blocks = [np.arange(n * width).reshape(n, width) + 10 * i for i, n in enumerate(lengths)]
    file = io.BytesIO()
    rows = GrowingNpy(file, (width,), dtype)
    for block in blocks:
        rows.write(block[:, ::-1])
    rows.finish()
    file.seek(0)
    found = np.load(file)
    expected = np.concatenate([np.empty((0, width)), *blocks])[:, ::-1]
    assert found.dtype == np.dtype(dtype)
    assert np.array_equal(found, expected)


def test_no_array_before_the_end():
    file = io.BytesIO()
    GrowingNpy(file, (2,), np.float32).write(np.zeros((3, 2)))
    file.seek(0)
    with pytest.raises(ValueError, match=r"pickled|magic"):
        np.load(file)


def test_rows_of_another_width():
    rows = GrowingNpy(io.BytesIO(), (2,), np.float32)
    with pytest.raises(ValueError, match=r"rows of shape \(3,\) after rows of shape \(2,\)"):
        rows.write(np.zeros((1, 3)))
