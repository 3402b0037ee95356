"""First occurrences of inputs: exact whatever the checksum does, and a checksum that tells inputs apart."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.data import duplicates as repeats
from noiseproof.data.duplicates import checksums, first_occurrences
from noiseproof.data.inputs import Selection


def slowly(rows):
    seen = {}
    return [seen.setdefault(tuple(row), number) for number, row in enumerate(rows)]


CHECKSUMS = {
    "real": checksums,
    "all the same": lambda rows: np.zeros(len(rows), np.uint64),
    "two": lambda rows: (rows[:, 0] % 2).astype(np.uint64),
}


@given(
    rows=st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=1)
    ),
    checksum=st.sampled_from(list(CHECKSUMS)),
    at_once=st.integers(1, 40),
)
@settings(deadline=None, max_examples=150)
def test_against_a_dict_even_if_checksums_collide(rows, checksum, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "checksums", CHECKSUMS[checksum])
        patch.setattr(repeats, "BYTES_AT_ONCE", at_once)
        patch.setattr(repeats, "AT_ONCE", at_once)
        array = np.array(rows, np.uint8).reshape(len(rows), -1)
        assert first_occurrences(array).tolist() == slowly(rows)
        lazily = Selection(array, np.arange(len(array))[::-1].copy())
        assert first_occurrences(lazily).tolist() == slowly(rows[::-1])


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("width", [1, 3, 8, 64])
def test_checksums_differ_for_different_rows_of_small_numbers(dtype, width):
    """Such floats end in zero bits, which a plain weighted sum would turn into thousands of collisions."""
    rows = np.unique(np.random.default_rng(0).integers(0, 17, (20_000, width)), axis=0).astype(dtype)
    words = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    assert len(np.unique(checksums(words))) == len(rows)


def test_order_of_values_and_signs_of_zero_count():
    assert first_occurrences(torch.tensor([[1.0, 2.0], [2.0, 1.0]])).tolist() == [0, 1]
    assert first_occurrences(torch.tensor([[0.0], [-0.0], [0.0]])).tolist() == [0, 1, 0]


def test_images_of_any_layout():
    images = torch.randint(
        0, 255, (5, 3, 4, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    images[4] = images[1]
    for layout in (images, images.to(memory_format=torch.channels_last), images.numpy()[:, ::-1]):
        assert first_occurrences(layout).tolist() == [0, 1, 2, 3, 1]
