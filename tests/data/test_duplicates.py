"""Exact duplicates, against a quadratic search."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import LabelledData, find_duplicates


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30))
@settings(deadline=None)
def test_matches_a_quadratic_search(rows):
    inputs = np.array([[value, value + 1] for value, _ in rows])
    labels = [label for _, label in rows]
    index = [3 * number + 1 for number in range(len(rows))]
    data = LabelledData(
        inputs,
        labels,
        index=index,
        clean_label=[2] * len(rows),
        class_names=list("abc"),
        duplicates="ignore",
    )
    expected = []
    for second in range(len(rows)):
        first = next(i for i in range(second + 1) if rows[i][0] == rows[second][0])
        if first != second:
            expected.append((index[first], index[second], labels[first] != labels[second]))
    assert [(d.first, d.second, d.conflicting) for d in find_duplicates(data)] == expected


pytestmark = pytest.mark.filterwarnings("ignore:no sample has the label")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.bfloat16, torch.bool])
def test_dtypes_and_chunks(dtype, monkeypatch):
    monkeypatch.setattr("noiseproof.data.duplicates.BYTES_PER_CHUNK", 5)
    inputs = torch.tensor([[0, 1], [1, 0], [1, 1], [1, 0]]).to(dtype)
    (found,) = find_duplicates(LabelledData(inputs, [0, 1, 0, 0], duplicates="ignore"))
    assert (found.first, found.second, found.conflicting) == (1, 3, True)
    assert str(found) == "sample 3 repeats sample 1 (labels 1 and 0)"


def test_digits_have_no_duplicates():
    from noiseproof.data import load

    assert find_duplicates(load("digits")) == []
