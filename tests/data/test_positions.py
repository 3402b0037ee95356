"""Positions of samples."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data.inputs import as_positions


@given(st.lists(st.integers(0, 9)))
@settings(deadline=None)
def test_positions_of_any_integer_type(chosen):
    for made in (chosen, tuple(chosen), np.array(chosen, np.uint8), torch.tensor(chosen, dtype=torch.int32)):
        assert as_positions(made, 10).tolist() == chosen


def test_masks_ranges_and_slices():
    assert as_positions(np.array([True, False, True]), 3).tolist() == [0, 2]
    assert as_positions(torch.tensor([False, False]), 2).tolist() == []
    assert as_positions(range(1, 3), 3).tolist() == [1, 2]
    assert as_positions(slice(-2, None), 5).tolist() == [3, 4]


def test_invalid_arguments_are_refused():
    with pytest.raises(IndexError, match=r"position -1 \(element 1"):
        as_positions([0, -1], 3)
    with pytest.raises(IndexError, match="mask has 2 entries for 3"):
        as_positions([True, False], 3)
    with pytest.raises(TypeError, match="float"):
        as_positions([0.5], 3)
    with pytest.raises(TypeError, match="shape"):
        as_positions(np.array(3), 5)


def test_positions_of_a_billion_samples():
    assert as_positions([999_999_999], 10**9).dtype == np.int64
