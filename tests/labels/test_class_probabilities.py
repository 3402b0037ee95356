"""Probabilities of the suggested class, against data with known noise."""

import numpy as np
import pytest

from noiseproof import labels
from noiseproof.labels.posterior import class_probabilities, redistribute

MATRIX = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.7, 0.3, 0.0], [0.0, 0.0, 0.7, 0.3], [0.3, 0.0, 0.0, 0.7]])
"""Each class is labelled as the next one in 30% of its rows."""


def known_case(rows=4000, sharp=4.0):
    """True probabilities, drawn classes and labels, and P(true class | row, label) by Bayes' rule."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, sharp, (rows, 4))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    clean = (true.cumsum(1) > rng.random((rows, 1))).argmax(1)
    label = (MATRIX[clean].cumsum(1) > rng.random((rows, 1))).argmax(1)
    joint = true * MATRIX[:, label].T
    return true, clean, label, joint / joint.sum(1, keepdims=True)


def suggested(table, label):
    others = table.copy()
    others[np.arange(len(label)), label] = -1
    return others.argmax(1)


def test_class_probabilities_use_the_transition_matrix():
    true, clean, label, exact = known_case()
    wrong = 1 - exact[np.arange(len(label)), label]
    found = class_probabilities(true, wrong, label)
    is_wrong = clean != label
    right = (suggested(found, label) == clean)[is_wrong].mean()
    plain = (suggested(true, label) == clean)[is_wrong].mean()
    assert plain < 0.9
    assert right > 0.97
    assert found.sum(1) == pytest.approx(1)
    assert found[np.arange(len(label)), label] == pytest.approx(1 - wrong)


def test_class_probabilities_correct_the_temperature():
    true, _, label, exact = known_case()
    wrong = 1 - exact[np.arange(len(label)), label]
    flat = true**0.3 / (true**0.3).sum(1, keepdims=True)
    assert np.abs(class_probabilities(flat, wrong, label) - exact).mean() < 0.01


def test_redistribute_keeps_nan_rows_and_fills_zero_rows_uniformly():
    found = redistribute(np.array([[1.0, 0, 0], [1.0, 0, 0]]), np.array([0.4, np.nan]), np.array([0, 0]))
    assert found[0] == pytest.approx([0.6, 0.2, 0.2])
    assert np.isnan(found[1]).all()


def test_predicted_probability_is_not_overconfident():
    """Three clusters, symmetric noise: suggestions are right about as often as their mean probability."""
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 3, 400)
    rows = np.eye(3)[clean] * 3 + rng.normal(size=(400, 3))
    label = np.where(rng.random(400) < 0.3, (clean + rng.integers(1, 3, 400)) % 3, clean)
    found = labels.find(rows, label=label, model=["linear", "trees"], folds=3)
    marked = found[found.is_label_issue]
    assert (marked.predicted_probability <= marked.wrong_probability + 1e-9).all()
    assert (marked.predicted_label == clean[marked.index]).mean() > marked.predicted_probability.mean() - 0.1
    kept = found[~found.is_label_issue]
    assert np.allclose(kept.predicted_probability, 1 - kept.wrong_probability)
