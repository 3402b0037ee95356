"""Networks that predict the mean of their probabilities."""

import pytest
import torch
from torch import nn

from noiseproof import models
from noiseproof.models import Ensemble, forward_with_features


def two(seed=0):
    return [models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=seed + k) for k in range(2)]


def test_ensemble_probabilities_are_the_mean():
    one, other = nn.Identity(), nn.Hardtanh(-300, 300)
    logits = torch.tensor([[1.0, 0.0, 2.0], [1e4, 0.0, -1e4]])
    found = Ensemble(one, other)(logits).double().softmax(1)
    wanted = (logits.double().softmax(1) + other(logits).double().softmax(1)) / 2
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-30)
    assert Ensemble(one, other)(logits).isfinite().all()


def test_ensemble_features_are_concatenated():
    networks, x = two(), torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    logits, features = forward_with_features(Ensemble(*networks), x)
    assert torch.equal(features, torch.cat([network.features(x) for network in networks], 1))
    assert torch.equal(logits, Ensemble(*networks)(x))


def test_equal_networks_are_refused():
    Ensemble(*two()).check_different()
    twin = models.get("mlp(hidden=8)", num_classes=3, in_channels=4, seed=0)
    with pytest.raises(ValueError, match="start from the same weights"):
        Ensemble(two()[0], twin).check_different()
    with pytest.raises(ValueError, match="two networks or more, got 1"):
        Ensemble(twin)
