"""Accuracies under label noise, and the identities between them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiseproof.dynamics import accuracy, class_accuracy, hybrid_accuracy, subset_accuracies

LABELS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=40)


@given(LABELS)
def test_subset_accuracies_average_to_the_accuracy(rows):
    prediction, label, clean = torch.tensor(rows).T
    found = subset_accuracies(prediction, label, clean)
    noisy = (label != clean).float().mean().item()
    parts = (1 - noisy) * (found["clean_subset"] or 0) + noisy * (found["noisy_subset"] or 0)
    assert found["corrupted"] == pytest.approx(parts, abs=1e-6)
    assert found["intact"] == pytest.approx((prediction == clean).float().mean().item(), abs=1e-6)
    assert (found["noisy_subset"] is None) == (noisy == 0)


def test_subset_accuracies_without_clean_labels():
    found = subset_accuracies(torch.tensor([0, 1]), torch.tensor([0, 0]), None)
    assert found == {"corrupted": 0.5, "intact": None, "clean_subset": None, "noisy_subset": None}


@given(LABELS)
def test_class_accuracies_average_to_the_accuracy(rows):
    prediction, label, _ = torch.tensor(rows).T
    found = class_accuracy(prediction, label, 5)
    counts = torch.bincount(label, minlength=5).tolist()
    total = sum(value * count for value, count in zip(found, counts, strict=True) if value is not None)
    assert accuracy(prediction, label) == pytest.approx(total / len(rows))
    assert [value is None for value in found] == [count == 0 for count in counts]


def test_unseen_samples_are_ignored():
    prediction, label = torch.tensor([-1, 2, 1]), torch.tensor([1, 2, 2])
    assert accuracy(prediction, label) == 0.5
    assert class_accuracy(prediction, label, 3) == [None, None, 0.5]
    assert accuracy(prediction[:1], label[:1]) is None


def test_hybrid_accuracy_combines_both_sets():
    test, truth = torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0])
    train, clean = torch.tensor([2, 2]), torch.tensor([2, 0])
    both = accuracy(torch.cat([test, train]), torch.cat([truth, clean]))
    assert hybrid_accuracy(accuracy(test, truth), 3, accuracy(train, clean), 2) == pytest.approx(both)
    assert hybrid_accuracy(None, 0, 0.5, 2) is None
