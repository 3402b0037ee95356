"""Hashed counters must look random: over indices, over seeds, over streams."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.noise.draws import normal, random_bits, uniform


def chi_square_p(counts):
    expected = counts.sum() / len(counts)
    statistic = ((counts - expected) ** 2 / expected).sum()
    half = torch.tensor([(len(counts) - 1) / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def test_uniform_over_indices_for_100_seeds():
    p = [chi_square_p(np.histogram(uniform(seed, np.arange(5000), 0), 50, (0, 1))[0]) for seed in range(100)]
    assert min(p) > 1e-4
    assert chi_square_p(np.histogram(p, 5, (0, 1))[0]) > 1e-4


def test_uniform_over_seeds():
    drawn = np.array([uniform(seed, np.array([3]), 1)[0] for seed in range(5000)])
    assert chi_square_p(np.histogram(drawn, 50, (0, 1))[0]) > 1e-4


@pytest.mark.parametrize(("left", "right"), [((0, 0), (0, 1)), ((0, 0), (1, 0)), ((5, 2), (6, 1))])
def test_streams_and_seeds_are_uncorrelated(left, right):
    index = np.arange(40_000)
    cells = [(8 * uniform(seed, index, stream)).astype(int) for seed, stream in (left, right)]
    assert chi_square_p(np.bincount(cells[0] * 8 + cells[1], minlength=64)) > 1e-4


def test_neighbouring_indices_are_uncorrelated():
    drawn = (8 * uniform(0, np.arange(40_001), 0)).astype(int)
    assert chi_square_p(np.bincount(drawn[:-1] * 8 + drawn[1:], minlength=64)) > 1e-4


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**62), min_size=1, max_size=20))
def test_draw_depends_on_its_index_only(seed, index):
    together = random_bits(seed, np.array(index), 0)
    alone = [random_bits(seed, np.array([i]), 0)[0] for i in index]
    assert together.tolist() == alone
    assert ((uniform(seed, np.array(index), 0) >= 0) & (uniform(seed, np.array(index), 0) < 1)).all()


def test_normal_moments():
    drawn = normal(7, np.arange(100_000), 0)
    assert abs(drawn.mean()) < 4 / np.sqrt(1e5)
    assert abs(drawn.var() - 1) < 4 * np.sqrt(2 / 1e5)
    assert abs((drawn**4).mean() - 3) < 4 * np.sqrt(96 / 1e5)
