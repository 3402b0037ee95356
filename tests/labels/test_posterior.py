"""The posterior of the true label, against data with a known transition matrix."""

import numpy as np
import pytest

from noiseproof.labels import posterior as module
from noiseproof.labels.posterior import combine, posterior, rescale, transition, true_probability

MATRIX = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def known_case(rows=6000, seed=0, sharp=6.0):
    """True probabilities, true classes, and labels drawn by MATRIX."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, sharp, (rows, 3))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    clean = (true.cumsum(1) > rng.random((rows, 1))).argmax(1)
    label = (MATRIX[clean].cumsum(1) > rng.random((rows, 1))).argmax(1)
    return true, clean, label


def test_transition_matrix_is_estimated():
    true, _, label = known_case()
    assert np.abs(transition(true @ MATRIX, label) - MATRIX).max() < 0.03


def test_never_predicted_class_gets_identity_row():
    rng = np.random.default_rng(0)
    p = rng.random((300, 1))
    noisy = np.hstack([0.998 * p, 0.998 * (1 - p), np.full((300, 1), 0.002)])
    label = np.r_[rng.integers(0, 2, 299), 2]
    assert transition(noisy, label)[2].tolist() == [0, 0, 1]
    assert true_probability(noisy, transition(noisy, label), label)[:, 2].max() < 0.01


def test_true_probability_inverts_the_transition_matrix():
    true, _, label = known_case(500)
    assert np.abs(true_probability(true @ MATRIX, MATRIX, label) - true).mean() < 0.02


def test_true_probability_with_subset_of_many_classes_is_accurate(monkeypatch):
    rng = np.random.default_rng(0)
    matrix = 0.8 * np.eye(100) + 0.2 * np.roll(np.eye(100), 1, axis=1)
    true = np.zeros((200, 100))
    true[np.arange(200), rng.integers(0, 100, 200)] = 1
    noisy = 0.999 * true @ matrix + 0.001 / 100
    label = noisy.argmax(1)
    few = true_probability(noisy, matrix, label)
    monkeypatch.setattr(module, "MAX_CLASSES", 100)
    assert (few.argmax(1) == true.argmax(1)).all()
    assert np.abs(few - true_probability(noisy, matrix, label)).max() < 0.05


def test_posterior_is_calibrated():
    true, clean, label = known_case(8000, sharp=4.0)
    probability = posterior([true @ MATRIX], label).true[np.arange(8000), label]
    for low in np.arange(0, 1, 0.25):
        part = (probability >= low) & (probability < low + 0.25)
        assert abs(probability[part].mean() - (clean == label)[part].mean()) < 0.06, low


def test_combine_gives_inaccurate_model_little_weight():
    true, _, label = known_case(2000)
    good, noise = true @ MATRIX, np.random.default_rng(1).dirichlet(np.ones(3), 2000)
    both = combine([good, noise], label)
    assert (both.argmax(1) == good.argmax(1)).mean() > 0.99


def test_rescale_recovers_the_temperature():
    true, _, label = known_case(4000, sharp=2.0)
    flat = (true @ MATRIX) ** 0.5
    flat /= flat.sum(1, keepdims=True)
    assert np.abs(rescale(flat, label) - true @ MATRIX).mean() < 0.02


def test_posterior_of_one_row():
    found = posterior([np.array([[0.9, 0.1]])], np.array([0]))
    assert found.true.sum() == pytest.approx(1)
