"""Suspects, scores and noise rates from probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.labels.findings import (
    Judgement,
    expected_f1,
    frame,
    is_weak,
    marked,
    rates,
    threshold,
    weakness,
)

CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=50).map(np.array)


def judged(wrong, label=None, classes=2):
    label = np.zeros(len(wrong), int) if label is None else label
    true = np.full((len(wrong), classes), 1 / classes)
    return Judgement(label, np.asarray(wrong, float), true)


@given(CHANCES)
def test_suspects_have_probability_above_threshold_and_score_below_half(wrong):
    assert 0.35 <= threshold(wrong) <= 0.5
    found = frame(judged(wrong), np.arange(len(wrong)), ("a", "b"), {})
    assert (found.is_label_issue == marked(wrong)).all()
    assert ((found.label_score < 0.5) == found.is_label_issue).all()
    assert found.label_score.between(0, 1).all()
    order = np.argsort(-wrong, kind="stable")
    assert (np.diff(found.label_score.to_numpy()[order]) >= -1e-9).all()


@given(CHANCES)
def test_threshold_maximises_expected_f1_in_its_range(wrong):
    best = expected_f1(wrong)
    if threshold(wrong) == 0.5:
        return  # perhaps because a lower one would mark most labels
    for limit in np.linspace(0.351, 0.499, 12):
        flagged = wrong >= limit
        either = flagged.sum() + wrong.sum()
        other = 2 * wrong[flagged].sum() / either if either else 1.0
        assert best >= other - 1e-9


def test_noise_rates_and_transition_of_small_case():
    label = np.array([0, 0, 1, 1])
    true = np.array([[0.9, 0.1, 0], [0.2, 0.6, 0.2], [0, 0.5, 0.5], [0, 1.0, 0]])
    found = rates(Judgement(label, np.array([0.1, 0.8, 0.5, 0.0]), true))
    assert found["noise_rate"] == pytest.approx(0.35)
    assert found["class_noise_rate"] == pytest.approx([0.45, 0.25, 0])
    assert np.allclose(np.sum(found["transition"], axis=1), 1)
    joint_first = [0.9 + 0.2, 0.0]
    assert found["transition"][0][:2] == pytest.approx(np.array(joint_first) / 1.1)


def test_nan_rows_are_excluded_from_rates():
    found = frame(judged([np.nan, 0.9]), np.arange(2), ("a", "b"), {})
    assert found.predicted_label.tolist() == [-1, 1]
    assert not found.is_label_issue[0]
    assert np.isnan(found.label_score[0])
    assert found.attrs["noise_rate"] == pytest.approx(0.9)


def test_low_expected_f1_is_weak_and_gives_a_warning():
    unsure = np.full(100, 0.2)
    assert is_weak(unsure, 2)
    assert not is_weak(np.r_[np.full(20, 0.9), np.full(80, 0.02)], 2)
    assert "labels find --data" in weakness({"weak": True, "noise_rate": 0.2, "epochs": 9})
    assert weakness({"weak": True, "noise_rate": 0.2}).startswith("About 20% of the labels seem to be wrong")
    assert weakness({"weak": False, "noise_rate": 0.2}) is None


def test_similar_probabilities_give_few_suspects_and_are_weak():
    """All labels as suspects have the best expected F1 there, which is not useful."""
    alike = np.random.default_rng(0).normal(0.44, 0.03, 1000)
    assert 2 * alike.mean() / (1 + alike.mean()) > 0.6
    assert marked(alike).mean() < 0.05
    assert is_weak(alike, 2)


def test_most_labels_can_be_suspects_if_probabilities_are_high():
    sure = np.r_[np.full(60, 0.95), np.full(40, 0.05)]
    assert marked(sure).sum() == 60
    assert not is_weak(sure, 10)
    assert is_weak(sure, 2)  # two classes: random labels are wrong less often
