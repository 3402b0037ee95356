"""The mixture of two normal distributions, against scikit-learn."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from noiseproof.methods.mixture import low_component


def losses(seed, low=(0.3, 0.25), high=(3.0, 0.8), wrong=0.4, count=1000):
    generator = np.random.default_rng(seed)
    is_wrong = generator.random(count) < wrong
    values = np.where(is_wrong, generator.normal(*high, count), generator.normal(*low, count))
    return np.abs(values), is_wrong


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wrong", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("high", [(3.0, 0.8), (1.2, 0.4)])
def test_responsibilities_match_scikit_learn(seed, wrong, high):
    """Both start from k-means with the extreme values as initial centres."""
    values, _ = losses(seed, high=high, wrong=wrong)
    scaled = ((values - values.min()) / (values.max() - values.min()))[:, None]
    cluster = KMeans(2, init=np.array([[0.0], [1.0]]), n_init=1, tol=0.0).fit_predict(scaled)
    parts = [scaled[cluster == k] for k in (0, 1)]
    fitted = GaussianMixture(
        2,
        max_iter=10,
        tol=1e-2,
        reg_covar=5e-4,
        weights_init=[len(part) / len(scaled) for part in parts],
        means_init=[part.mean(0) for part in parts],
        precisions_init=[[[1 / (part.var() + 5e-4)]] for part in parts],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may not converge in ten iterations
        wanted = fitted.fit(scaled).predict_proba(scaled)[:, fitted.means_.argmin()]
    np.testing.assert_allclose(low_component(torch.from_numpy(values)).numpy(), wanted, atol=1e-8)


def test_low_component_separates_right_from_wrong_labels():
    values, is_wrong = losses(9)
    found = low_component(torch.from_numpy(values)) < 0.5
    assert (found.numpy() == is_wrong).mean() > 0.97


def test_result_is_independent_of_order_and_one_for_equal_values():
    values = torch.from_numpy(losses(3)[0]).float()
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(low_component(values)[order], low_component(values[order]))
    assert torch.equal(low_component(torch.full((5,), 2.0)), torch.ones(5, dtype=torch.float64))
    assert low_component(torch.tensor([0.0, 1.0])).tolist() == pytest.approx([1.0, 0.0], abs=1e-9)
