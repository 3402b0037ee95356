"""The posterior of the true label, against data whose transition matrix is known."""

import numpy as np
import pytest

from noiseproof.labels import posterior as module
from noiseproof.labels.posterior import combine, posterior, rescale, transition, true_probability

MATRIX = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def known_case(rows=6000, seed=0, sharp=6.0):
    """True probabilities of rows, labels drawn through MATRIX, and what a perfect witness predicts."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, sharp, (rows, 3))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    clean = (true.cumsum(1) > rng.random((rows, 1))).argmax(1)
    label = (MATRIX[clean].cumsum(1) > rng.random((rows, 1))).argmax(1)
    return true, clean, label


def test_the_transition_matrix_is_found():
    true, _, label = known_case()
    assert np.abs(transition(true @ MATRIX, label) - MATRIX).max() < 0.03


def test_a_class_that_no_row_is_predicted_as_does_not_explain_rows_between_other_classes():
    rng = np.random.default_rng(0)
    p = rng.random((300, 1))
    noisy = np.hstack([0.998 * p, 0.998 * (1 - p), np.full((300, 1), 0.002)])
    label = np.r_[rng.integers(0, 2, 299), 2]
    assert transition(noisy, label)[2].tolist() == [0, 0, 1]
    assert true_probability(noisy, transition(noisy, label), label)[:, 2].max() < 0.01


def test_inverting_gives_the_true_probabilities_back():
    true, _, label = known_case(500)
    assert np.abs(true_probability(true @ MATRIX, MATRIX, label) - true).mean() < 0.02


def test_many_classes_are_inverted_through_the_likeliest_alone(monkeypatch):
    rng = np.random.default_rng(0)
    matrix = 0.8 * np.eye(100) + 0.2 * np.roll(np.eye(100), 1, axis=1)
    true = np.zeros((200, 100))
    true[np.arange(200), rng.integers(0, 100, 200)] = 1
    noisy = 0.999 * true @ matrix + 0.001 / 100
    label = noisy.argmax(1)
    few = true_probability(noisy, matrix, label)
    monkeypatch.setattr(module, "MOST_CLASSES", 100)
    assert (few.argmax(1) == true.argmax(1)).all()
    assert np.abs(few - true_probability(noisy, matrix, label)).max() < 0.05


def test_labels_are_right_as_often_as_the_posterior_says():
    true, clean, label = known_case(8000, sharp=4.0)
    said = posterior([true @ MATRIX], label).true[np.arange(8000), label]
    for low in np.arange(0, 1, 0.25):
        part = (said >= low) & (said < low + 0.25)
        assert abs(said[part].mean() - (clean == label)[part].mean()) < 0.06, low


def test_a_bad_witness_is_hardly_heard():
    true, _, label = known_case(2000)
    good, noise = true @ MATRIX, np.random.default_rng(1).dirichlet(np.ones(3), 2000)
    both = combine([good, noise], label)
    assert (both.argmax(1) == good.argmax(1)).mean() > 0.99


def test_sharpening_finds_the_temperature():
    true, _, label = known_case(4000, sharp=2.0)
    dull = (true @ MATRIX) ** 0.5
    dull /= dull.sum(1, keepdims=True)
    assert np.abs(rescale(dull, label) - true @ MATRIX).mean() < 0.02


def test_one_row_and_one_class_are_no_problem():
    found = posterior([np.array([[0.9, 0.1]])], np.array([0]))
    assert found.true.sum() == pytest.approx(1)
