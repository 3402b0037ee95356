import math

import pytest
import torch

from noiseproof.losses import expected_margin


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [(10, -2.6018), (50, -4.3743), (100, -5.0864), (200, -5.7890), (400, -6.4868), (1000, -7.4059)],
)
def test_expected_margin_formula(classes, wanted):
    assert expected_margin(classes) == pytest.approx(wanted, abs=5e-5)


@pytest.mark.parametrize(("classes", "std"), [(3, 1.0), (5, 1.0), (9, 1.0), (4, 0.3), (10, 2.0), (100, 2.5)])
def test_expected_margin_matches_simulation(classes, std):
    others = std * torch.randn(100_000, classes - 1, generator=torch.Generator().manual_seed(classes))
    simulated = -others.logsumexp(1)
    error = float(simulated.std()) / math.sqrt(100_000)
    assert abs(float(simulated.mean()) - expected_margin(classes, std)) < 4 * error


def test_expected_margin_of_two_classes_is_zero():
    assert expected_margin(2) == 0


def test_quadrature_and_formula_are_consistent():
    assert expected_margin(9) > expected_margin(10) > expected_margin(11)
    assert expected_margin(6, std=0.0) == pytest.approx(-math.log(5))


@pytest.mark.parametrize(("classes", "std"), [(1, 1.0), (0, 1.0), (10, -1.0), (10, math.nan), (10, math.inf)])
def test_invalid_arguments_raise_value_error(classes, std):
    with pytest.raises(ValueError, match=r"num_classes|std"):
        expected_margin(classes, std)
