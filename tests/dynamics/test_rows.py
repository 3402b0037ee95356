"""Permanent numbers to rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.dynamics.rows import Rows


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50, unique=True), st.data())
def test_rows_of_permanent_numbers(numbers, data):
    rows = Rows(torch.tensor(numbers))
    asked = data.draw(st.lists(st.sampled_from(numbers), max_size=20))
    found = rows.of(torch.tensor(asked, dtype=torch.int64))
    assert [numbers[row] for row in found] == asked
    rows.check(torch.tensor(asked, dtype=torch.int64))


@pytest.mark.parametrize("index", [[0, 1, 2], [5, 3, 9]])
@pytest.mark.parametrize("stranger", [4, -1, 10])
def test_unknown_sample_is_an_error(index, stranger):
    with pytest.raises(ValueError, match=f"sample {stranger} is not in the training data of 3 samples"):
        Rows(torch.tensor(index)).check(torch.tensor([index[0], stranger]))


def test_repeated_sample_is_an_error():
    with pytest.raises(ValueError, match="sample 7 occurs twice"):
        Rows(torch.tensor([7, 3, 7]))
