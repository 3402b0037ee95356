import itertools

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from noiseproof.counter import EPOCH, SAMPLE, SEED, draw, lower_below, mix, upper_below

MASK = (1 << 64) - 1


def splitmix_finaliser(number: int) -> int:
    """The published algorithm on Python's integers."""
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def test_mix_is_the_finaliser_of_splitmix64():
    numbers = [0, 1, 2**63 - 1, -1, -(2**63), 123456789, -987654321]
    assert [value & MASK for value in mix(torch.tensor(numbers)).tolist()] == [
        splitmix_finaliser(number & MASK) for number in numbers
    ]


def test_published_sequence():
    """splitmix64 with seed 1234567, as its reference implementation prints it."""
    steps = torch.arange(1, 6) * -7046029254386353131 + 1234567
    assert [value & MASK for value in mix(steps).tolist()] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_numbers_never_change_between_releases():
    """Golden values: a resumed run must get the same random numbers."""
    found = draw(seed=7, epoch=3, index=torch.tensor([0, 1, 49_999]), stream=2)
    assert [value & MASK for value in found.tolist()] == [
        13544092448234700777,
        9637488014314401537,
        17924736387999579603,
    ]


def test_draw_matches_python_integers():
    seed, epoch, stream = 2**40 + 5, 321, 3
    start = splitmix_finaliser((seed * SEED + stream) & MASK)
    index = [0, 17, 2**40]
    expected = [splitmix_finaliser((i * SAMPLE + epoch * EPOCH + start) & MASK) for i in index]
    found = draw(seed=seed, epoch=epoch, index=torch.tensor(index), stream=stream)
    assert [value & MASK for value in found.tolist()] == expected


def test_different_arguments_give_different_numbers():
    places = itertools.product(range(6), range(6), range(1, 5))
    found = [draw(seed=s, epoch=e, index=torch.arange(200), stream=t) for s, e, t in places]
    assert torch.cat(found).unique().numel() == 6 * 6 * 4 * 200


@pytest.mark.parametrize("bit", [0, 1, 20, 31, 32, 40, 62, 63])
def test_bits_are_fair_and_independent(bit):
    numbers = draw(seed=0, epoch=0, index=torch.arange(30_000), stream=1)
    ones = (numbers >> bit) & 1
    pairs = ones[:-1:2] * 2 + ones[1::2]
    assert chisquare(torch.bincount(pairs, minlength=4)).pvalue > 1e-4


def test_halves_are_uniform_and_independent():
    numbers = draw(seed=0, epoch=0, index=torch.arange(70_000), stream=1)
    cells = upper_below(numbers, 7) * 5 + lower_below(numbers, 5)
    assert chisquare(torch.bincount(cells, minlength=35)).pvalue > 1e-4


def test_extreme_bits_stay_below_count():
    numbers = torch.tensor([0, -1, 2**63 - 1, -(2**63)])
    for count in (1, 2, 9, 2**31 - 1):
        for half in (upper_below, lower_below):
            assert 0 <= half(numbers, count).min() <= half(numbers, count).max() < count


@pytest.mark.parametrize("value", [1.5, True, "1", None, 2.0])
@pytest.mark.parametrize("name", ["seed", "epoch"])
def test_values_that_are_not_integers_are_refused(name, value):
    with pytest.raises(TypeError, match=f"{name}={value!r} must be a whole number"):
        draw(**{"seed": 0, "epoch": 0, name: value}, index=torch.arange(2), stream=1)


def test_integer_types():
    expected = draw(seed=3, epoch=4, index=torch.arange(5), stream=1)
    for epoch in (np.int64(4), torch.tensor(4), torch.tensor(4, dtype=torch.uint8)):
        assert torch.equal(draw(seed=np.uint8(3), epoch=epoch, index=torch.arange(5), stream=1), expected)
