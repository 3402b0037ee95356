"""First occurrences of inputs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import duplicates as repeats
from noiseproof.data.duplicates import first_occurrences
from noiseproof.data.inputs import Selection


def by_dict(rows):
    seen = {}
    return [seen.setdefault(tuple(row), number) for number, row in enumerate(rows)]


@given(
    rows=st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=1)
    ),
    short=st.sampled_from([0, 64]),
    at_once=st.integers(1, 40),
)
@settings(deadline=None, max_examples=150)
def test_matches_a_dict(rows, short, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MAX_KEY_BYTES", short)
        patch.setattr(repeats, "BYTES_PER_CHUNK", at_once)
        patch.setattr(repeats, "SAMPLES_PER_READ", at_once)
        array = np.array(rows, np.uint8).reshape(len(rows), -1)
        assert first_occurrences(array).tolist() == by_dict(rows)
        lazy = Selection(array, np.arange(len(array))[::-1].copy())
        assert first_occurrences(lazy).tolist() == by_dict(rows[::-1])


def test_empty_inputs_are_equal():
    assert first_occurrences(torch.empty(3, 0)).tolist() == [0, 0, 0]


def test_value_order_and_sign_of_zero_differ():
    assert first_occurrences(torch.tensor([[1.0, 2.0], [2.0, 1.0]])).tolist() == [0, 1]
    assert first_occurrences(torch.tensor([[0.0], [-0.0], [0.0]])).tolist() == [0, 1, 0]


def test_images_of_any_memory_layout():
    images = torch.randint(
        0, 255, (5, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    images[4] = images[1]
    for layout in (images, images.to(memory_format=torch.channels_last), images.numpy()[:, ::-1]):
        assert first_occurrences(layout).tolist() == [0, 1, 2, 3, 1]
