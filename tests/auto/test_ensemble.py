"""Ensemble: weights of models, and which are fitted with weighted labels."""

import numpy as np
import pytest
from sklearn.datasets import make_circles

from noiseproof.auto import Ensemble, agreement, label_weights, member_predictions
from noiseproof.auto.ensemble import MIN_LABEL_WEIGHT, MemberPrediction, shares
from noiseproof.labels.cross_fit import Rounds, cross_fitter, two_rounds
from noiseproof.labels.cross_fit_models import Inputs
from noiseproof.labels.findings import Judgement
from noiseproof.labels.folds import split


def circles(rate, seed=0):
    X, clean = make_circles(300, factor=0.4, noise=0.1, random_state=seed)
    wrong = np.random.default_rng(seed).random(len(clean)) < rate
    return Inputs(X, X), np.where(wrong, 1 - clean, clean), clean


@pytest.fixture(scope="module")
def fitted():
    inputs, label, clean = circles(0.3)
    splits, names = split(label, 3, rows=inputs.linear, seed=0), ("linear", "neighbours", "kernel")
    rounds = two_rounds(cross_fitter(names, inputs, label, 2, splits, 0, lambda name, fold: None), label)
    members = member_predictions(names, rounds, label)
    return (
        members,
        rounds,
        Ensemble.fit(members, inputs, label, None, label_weights(rounds), 2, 0),
        inputs,
        clean,
    )


def test_kernel_learns_a_nonlinear_boundary(fitted):
    members, _, ensemble, inputs, clean = fitted
    assert [one.name for one in members] == ["linear", "neighbours", "kernel"]
    assert "linear" not in ensemble.names
    assert "kernel" in ensemble.names
    assert sum(ensemble.weights) == pytest.approx(1)
    assert (ensemble.predict_proba(inputs).argmax(1) == clean).mean() > 0.95


def test_weighted_fit_is_used_only_if_more_accurate(fitted):
    members, rounds, _, _, _ = fitted
    label = rounds.judged.label
    linear = members[0]
    assert linear.is_weighted == (agreement(rounds.second[:1], label) >= agreement(rounds.first[:1], label))
    assert not members[1].is_weighted


def test_rare_classes_are_raised_by_the_root_of_their_frequency(fitted):
    _, _, ensemble, inputs, _ = fitted
    equal = ensemble._replace(class_frequencies=(0.5, 0.5)).predict_proba(inputs)
    raised = ensemble._replace(class_frequencies=(0.8, 0.2)).predict_proba(inputs)
    odds = (raised[:, 1] / raised[:, 0]) / (equal[:, 1] / equal[:, 0])
    assert np.allclose(odds, 2)
    assert np.allclose(raised.sum(1), 1)


@pytest.mark.parametrize("sample_weight", [None, np.r_[np.full(80, 3.0), np.ones(20)]])
def test_class_frequencies_are_those_of_the_weighted_labels(sample_weight):
    label = np.r_[np.zeros(80, int), np.ones(20, int)]
    X = label[:, None] + np.random.default_rng(0).normal(size=(100, 2))
    member = MemberPrediction("linear", np.eye(2)[label], True)
    ensemble = Ensemble.fit([member], Inputs(X, X), label, sample_weight, np.ones(100), 2, 0)
    rare = 0.2 if sample_weight is None else 20 / 260
    assert ensemble.class_frequencies == pytest.approx((1 - rare, rare))


def test_probabilities_of_a_model_of_the_user_are_not_changed(fitted):
    _, _, ensemble, inputs, _ = fitted
    (model, *_) = (one for name, one in zip(ensemble.names, ensemble.models, strict=True) if name != "kernel")
    assert np.allclose(
        Ensemble.of(model, 2).predict_proba(inputs), model.predict_proba(inputs.linear), atol=1e-4
    )


def test_the_prediction_of_a_row_does_not_depend_on_the_other_rows():
    X = np.random.default_rng(0).uniform(size=(20, 3)).astype(np.float32)
    label = np.arange(20) % 2
    members = [MemberPrediction("kernel", np.eye(2)[label], True)]
    ensemble = Ensemble.fit(members, Inputs(X, X), label, None, np.ones(20), 2, 0)
    alone = [ensemble.predict_proba(Inputs(row[None], row[None]))[0] for row in X]
    assert np.allclose(ensemble.predict_proba(Inputs(X, X)), alone, rtol=0, atol=1e-9)


def test_weights_decrease_with_accuracy():
    label = np.array([0, 1] * 50)
    good, bad = np.eye(2)[label], np.eye(2)[np.where(np.arange(100) < 5, 1 - label, label)]
    share = shares([good, bad], label)
    assert share[0] > 0.9
    assert share.sum() == pytest.approx(1)
    assert agreement([good], label) == 1.0
    assert agreement([bad], label) == 0.95


def test_every_row_has_a_positive_weight():
    wrong = np.array([0.0, 0.5, 1.0])
    rounds = Rounds([], [], Judgement(np.zeros(3, int), wrong, np.ones((3, 1))))
    assert label_weights(rounds).tolist() == [1.0, 0.5, MIN_LABEL_WEIGHT]
