"""Estimate the transition matrix, then train with it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from noiseproof.noise import anchor_transition, confident_transition, transition
from noiseproof.recipes import estimate_and_correct
from noiseproof.train import Config


@pytest.fixture
def config(tmp_path):
    return Config(
        noise="asymmetric(0.3, map='mnist')",
        model="mlp(hidden=64)",
        epochs=6,
        lr=0.05,
        device="cpu",
        out=str(tmp_path / "both"),
    )


@pytest.mark.parametrize("estimate", ["anchor", "anchor97", "confident"])
def test_second_run_uses_the_matrix_of_the_first(config, tmp_path, estimate):
    found = estimate_and_correct(config, estimate=estimate)
    probability = found.first.outputs["train_probability"].double()
    probability = probability / probability.sum(1, keepdim=True)
    expected = {
        "anchor": lambda: anchor_transition(probability, percentile=None),
        "anchor97": lambda: anchor_transition(probability),
        "confident": lambda: confident_transition(found.first.record.label, probability),
    }[estimate]()
    torch.testing.assert_close(found.transition, expected)
    assert np.array_equal(np.load(tmp_path / "both/transition.npy"), found.transition.numpy())
    assert (
        found.second.config.method == f'forward(transition="{(tmp_path / "both/transition.npy").as_posix()}")'
    )
    assert found.first.config.method is None


def test_estimate_is_close_to_the_true_matrix(config):
    found = estimate_and_correct(config.replace(validation=0.2, epochs=10), estimate="confident")
    truth = transition("asymmetric(0.3, map='mnist')", num_classes=10)
    assert (found.transition - truth).abs().sum(1).mean() < 0.4
    assert found.first.result["selected"] is not None


def test_options_of_the_correction_are_kept(config):
    found = estimate_and_correct(config.replace(epochs=2), correction="forward(rce=1.0)")
    assert found.second.config.method.endswith(", rce=1.0)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimate": "guess"}, "estimate='guess' is unknown"),
        ({"correction": "elr"}, "correction='elr' is unknown"),
    ],
)
def test_unknown_names_raise_an_error_before_training(config, options, message):
    with pytest.raises(ValueError, match=message):
        estimate_and_correct(config, **options)
    assert not Path(config.out).exists()
