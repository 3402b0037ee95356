"""D2L: dimensionality against closed forms, the turning point, and the adapted labels."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from training_info import normal, training_info

from noiseproof.methods import D2L, Outputs, local_dimensionality


@pytest.mark.parametrize("k", [2, 5, 20])
def test_dimensionality_of_line_end_has_closed_form(k):
    r"""Neighbours at distances 1 ... k: :math:`k / (k \log k - \log k!)`."""
    line = torch.arange(60.0, dtype=torch.float64).unsqueeze(1)
    wanted = k / (k * math.log(k) - math.lgamma(k + 1))
    assert float(local_dimensionality(line, k)[0]) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_dimensionality_of_embedded_cube(dimension):
    """Points of a cube, rotated, translated and scaled in 12 dimensions."""
    generator = torch.Generator().manual_seed(dimension)
    points = torch.rand(2000, dimension, generator=generator, dtype=torch.float64)
    frame, _ = torch.linalg.qr(torch.randn(12, 12, generator=generator, dtype=torch.float64))
    found = local_dimensionality(100 + 7 * points @ frame[:dimension], k=20)
    assert float(found.mean()) == pytest.approx(dimension, rel=0.15)


def test_dimensionality_matches_scikit_learn_neighbours():
    from sklearn.neighbors import NearestNeighbors

    points = normal(50, 6)
    distance = NearestNeighbors(n_neighbors=9).fit(points).kneighbors(points)[0][:, 1:]
    wanted = [-1 / sum(math.log(r / row[-1]) for r in row) * 8 for row in distance]
    torch.testing.assert_close(
        local_dimensionality(points, k=8), torch.tensor(wanted, dtype=torch.float64), rtol=1e-5, atol=0
    )


def prepared(epochs=12, samples=6, **options):
    method = D2L(**options)
    method.prepare(training_info(torch.arange(samples) % 3, epochs=epochs))
    return method


def test_turning_point_is_two_standard_deviations_above_window_mean():
    lids = [9.0, 7.0, 6.0, 5.0, 5.2, 4.8, 5.1, 4.9, 5.28]  # window of the last: mean 5, deviation 0.141
    method = prepared(start=2, window=5)
    for lid in lids:
        method.update_alpha(lid)
    assert (int(method.turned), float(method.alpha)) == (0, 1.0)
    method = prepared(start=2, window=5)
    for lid in [*lids[:-1], 5.29]:
        method.update_alpha(lid)
    assert int(method.turned) == 9
    assert float(method.alpha) == pytest.approx(math.exp(-9 / 12 * 5.29 / 4.8))
    method.update_alpha(4.0)
    assert float(method.alpha) == pytest.approx(math.exp(-10 / 12)), "the minimum may come later"
    assert int(method.turned) == 9


def test_turning_point_requires_start_and_full_window():
    method = prepared(start=4, window=3)
    for lid in [1.0, 1.0, 1.0, 5.0, 1.0, 1.0]:
        method.update_alpha(lid)
    assert int(method.turned) == 0
    method.update_alpha(9.0)
    assert int(method.turned) == 7


def test_loss_mixes_label_with_prediction():
    label = torch.tensor([0, 2, 1])
    logits = normal(3, 3).requires_grad_()
    method = prepared()
    torch.testing.assert_close(method.step(logits, label, label, 1), cross_entropy(logits, label))
    method.alpha.fill_(0.3)
    wanted = 0.3 * cross_entropy(logits, label) + 0.7 * cross_entropy(logits, logits.argmax(1))
    torch.testing.assert_close(method.step(logits, label, label, 1), wanted, rtol=1e-6, atol=0)


class StubEvaluation:
    """An evaluation with given features, which records the requested samples."""

    is_best = False

    def __init__(self, features):
        self.features, self.requested = features, []

    def outputs(self, positions=None, *, features=False):
        assert features
        self.requested.append(positions)
        return (Outputs(torch.zeros(len(positions), 3), self.features[positions]),)


def test_each_epoch_measures_a_new_random_subset():
    method, evaluation = prepared(samples=400, subset=200), StubEvaluation(normal(400, 5))
    for epoch in (1, 2):
        method.between_epochs(evaluation, epoch)
    first, second = evaluation.requested
    assert len(set(first.tolist())) == 200
    assert set(first.tolist()) != set(second.tolist())
    groups = evaluation.features[first].split(128)
    wanted = torch.cat([local_dimensionality(group) for group in groups]).mean()
    assert float(method.lids[0]) == pytest.approx(float(wanted))


def test_constant_features_keep_the_previous_dimensionality():
    method = prepared(samples=30)
    method.update_alpha(4.0)
    method.between_epochs(StubEvaluation(torch.ones(30, 5)), 2)
    assert method.lids[:2].tolist() == [4.0, 4.0]
