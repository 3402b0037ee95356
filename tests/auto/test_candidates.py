"""Candidates: losses are scaled if training would start with almost no gradient."""

import math

import pytest
import torch

from noiseproof.auto.candidates import RATES, candidates, initial_state, scaled_spec
from noiseproof.losses import curve, get
from noiseproof.train import Config


def test_candidates_include_cross_entropy_at_every_rate():
    found = candidates(Config(lr=0.02), -2.2)
    assert [one.lr for one in found if one.is_cross_entropy] == [0.02 * rate for rate in RATES]
    assert len(set(found)) == len(found)
    for one in found:
        Config(**one.settings())


@pytest.mark.parametrize("spec", ["gce(q=0.7)", "unit_max(mae)"])
def test_underfitting_losses_are_scaled(spec):
    assert scaled_spec(spec, -1.0) == spec
    scaled = scaled_spec(spec, -6.0)
    assert "scale(" in scaled
    found = curve(get(scaled), 2)
    assert float(found.emphasis(torch.tensor(-6.0))) > 0.2 * found.peak


def test_two_classes_and_cross_entropy_are_not_scaled():
    assert scaled_spec("unit_max(mae)", 0.0) == "unit_max(mae)"
    assert scaled_spec("ce", -9.0) == "ce"


def test_initial_margin_is_that_of_the_network():
    start = initial_state(Config(validation=0.2), None, None)
    assert start.margin == pytest.approx(-math.log(9), abs=0.5)
    assert start.validation == 280
    assert start.epochs == 334
