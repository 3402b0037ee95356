"""Estimated matrices compared with the true ones, on synthetic posteriors and on data without error."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from noiseproof.noise import anchor_transition, confident_joint, confident_transition, corrupt, transition

CLASSES = 5
SPECS = ["symmetric(0.4)", 'asymmetric(0.3, map="0>1,1>0,3>4")', 'cycle(0.3, grouping="all")']


def synthetic(count, spec, concentration=0.1):
    """Clean posteriors from a Dirichlet, labels drawn from them, the true posterior of the given label."""
    generator = np.random.default_rng(count)
    posterior = generator.dirichlet(np.full(CLASSES, concentration), count)
    clean = (posterior.cumsum(1) > generator.random((count, 1))).argmax(1)
    truth = transition(spec, num_classes=CLASSES).numpy()
    noisy = corrupt(clean, spec, num_classes=CLASSES, seed=count).labels.numpy()
    return truth, noisy, posterior @ truth


def error(found, truth):
    return np.abs(found.numpy() - truth).max()


@pytest.mark.parametrize("spec", SPECS)
def test_anchor_estimate_converges(spec):
    """Max abs error of the plain maximum: 0.21 to 0.34 at N = 100, 0.03 to 0.05 at N = 100,000."""
    errors = []
    for count in (100, 2_000, 100_000):
        truth, _, probabilities = synthetic(count, spec, concentration=1.0)
        errors.append(error(anchor_transition(probabilities, percentile=None), truth))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.06


@pytest.mark.parametrize("spec", SPECS)
def test_percentile_rule_is_biased_if_anchors_are_rare(spec):
    truth, _, rare = synthetic(20_000, spec, concentration=1.0)
    plain, robust = (error(anchor_transition(rare, percentile=p), truth) for p in (None, 97.0))
    assert plain < 0.1 < robust
    truth, _, common = synthetic(20_000, spec, concentration=0.05)
    assert error(anchor_transition(common), truth) < 0.01


def test_percentile_rule_skips_outliers():
    truth, _, probabilities = synthetic(20_000, SPECS[0], concentration=0.05)
    for label in range(CLASSES):
        probabilities[label] = np.eye(CLASSES)[label]
    assert error(anchor_transition(probabilities), truth) < 0.01
    assert error(anchor_transition(probabilities, percentile=None), truth) == pytest.approx(0.4)


def test_probabilities_are_not_modified():
    """Public code zeroes outliers in place, and later rows may read the zeros."""
    _, _, probabilities = synthetic(500, SPECS[0])
    before = probabilities.copy()
    found = anchor_transition(probabilities)
    assert np.array_equal(before, probabilities)
    assert torch.equal(found, anchor_transition(torch.from_numpy(before)))


def public_loop(probabilities):
    table = probabilities.copy()
    found = np.empty((CLASSES, CLASSES))
    for label in range(CLASSES):
        column = table[:, label]
        column[column >= np.percentile(column, 97, method="higher")] = 0
        found[label] = table[column.argmax()]
    return found / found.sum(1, keepdims=True)


def test_anchor_estimate_matches_public_code():
    _, _, probabilities = synthetic(20_000, SPECS[0], concentration=1.0)
    assert np.abs(anchor_transition(probabilities).numpy() - public_loop(probabilities)).max() < 1e-12


def test_anchor_of_one_sample():
    assert anchor_transition([[0.25, 0.75]]).tolist() == [[0.25, 0.75], [0.25, 0.75]]


@pytest.mark.parametrize("spec", SPECS)
def test_confident_estimate_converges(spec):
    """Max abs error with sharp posteriors: 0.04 to 0.10 at N = 200, 0.006 to 0.011 at N = 100,000."""
    errors = []
    for count in (200, 5_000, 100_000):
        truth, noisy, probabilities = synthetic(count, spec, concentration=0.01)
        errors.append(error(confident_transition(noisy, probabilities), truth))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def naive_joint(labels, table):
    """cleanlab's definition, sample by sample."""
    classes = table.shape[1]
    means = [table[labels == j, j].mean() if (labels == j).any() else 2 for j in range(classes)]
    counts = np.zeros((classes, classes))
    for given_label, row in zip(labels, table, strict=True):
        above = [j for j in range(classes) if row[j] >= means[j] - 1e-6]
        if above:
            counts[given_label, row.argmax() if len(above) > 1 else above[0]] += 1
    np.fill_diagonal(counts, counts.diagonal().clip(min=1))
    return counts


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 1000))
def test_confident_joint_matches_the_definition(count, classes, seed):
    generator = np.random.default_rng(seed)
    table = generator.dirichlet(np.full(classes, 0.7), count)
    labels = generator.integers(0, classes, count)
    raw = naive_joint(labels, table)
    assert np.array_equal(confident_joint(labels, table, calibrate=False).numpy(), raw)
    calibrated = confident_joint(labels, table).numpy()
    assert np.allclose(calibrated.sum(1), np.bincount(labels, minlength=classes))
    assert np.allclose(confident_transition(labels, table).sum(1), 1)


def test_certain_probabilities_give_the_realised_matrix():
    clean = np.arange(2000) % CLASSES
    noisy = corrupt(clean, SPECS[1], num_classes=CLASSES, seed=0)
    certain = np.eye(CLASSES)[clean] * 0.99 + 0.01 / CLASSES
    assert torch.allclose(confident_transition(noisy.labels, certain), noisy.transition)


def test_confident_joint_matches_cleanlab():
    count = pytest.importorskip("cleanlab.count", reason="cleanlab is an extra")
    _, noisy, probabilities = synthetic(3_000, SPECS[0])
    theirs = count.compute_confident_joint(noisy, probabilities, calibrate=False)
    assert np.array_equal(confident_joint(noisy, probabilities, calibrate=False).numpy(), theirs)
    rounded = count.compute_confident_joint(noisy, probabilities, calibrate=True)
    assert np.abs(confident_joint(noisy, probabilities).numpy() - rounded).max() <= 1


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([[0.5, 0.6]], r"probabilities\[0\] is not a probability distribution: \[0.5, 0.6\]"),
        ([[0.5, 0.5], [np.nan, 1.0]], r"probabilities\[1\] is not a probability distribution"),
        ([[1.5, -0.5]], r"probabilities\[0\]"),
        ([[1, 0]], "must be floating point"),
        ([0.5, 0.5], r"shape \(2,\)"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
    ],
)
def test_invalid_probabilities_are_refused(probabilities, message):
    for estimate in (anchor_transition, lambda p: confident_joint(np.zeros(len(p), int), p)):
        with pytest.raises(ValueError, match=message):
            estimate(probabilities)


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match="percentile=101"):
        anchor_transition([[0.5, 0.5]], percentile=101)
    with pytest.raises(ValueError, match="2 labels do not fit 1 rows"):
        confident_joint([0, 1], [[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"labels\[0\] = 2 is not a valid class"):
        confident_joint([2], [[0.5, 0.5]])
