"""Find wrong labels by out-of-sample probabilities alone."""

import numpy as np
import pytest
import torch
from label_samples import average_precision, best_f1, f1

from noiseproof import labels


def problem(samples=3000, classes=6, rate=0.25, seed=0, sharp=3.0):
    generator = torch.Generator().manual_seed(seed)
    clean = torch.randint(classes, (samples,), generator=generator)
    wrong = torch.rand(samples, generator=generator) < rate
    label = torch.where(wrong, (clean + 1) % classes, clean)
    logits = torch.randn(samples, classes, generator=generator)
    logits[torch.arange(samples), clean] += sharp
    return logits.softmax(1), label, wrong


def test_ranking_beats_self_confidence_and_noise_rate_is_estimated():
    table, label, wrong = problem()
    found = labels.find(probabilities=table, label=label)
    score, own = torch.tensor(found.label_score.to_numpy()), table.gather(1, label[:, None]).squeeze(1)
    assert average_precision(score, wrong) > average_precision(own, wrong)
    assert f1(torch.tensor(found.is_label_issue.to_numpy()), wrong) > best_f1(score, wrong) - 0.05
    assert found.attrs["noise_rate"] == pytest.approx(0.25, abs=0.1)
    assert np.diag(np.roll(found.attrs["transition"], -1, axis=1)).mean() == pytest.approx(0.25, abs=0.1)


def test_predictions_of_several_models_are_combined():
    good, label, wrong = problem(sharp=2.0)
    other, _, _ = problem(sharp=2.0)
    other = other.flip(0)[torch.randperm(len(other), generator=torch.Generator().manual_seed(1))]
    alone = labels.find(probabilities=good, label=label)
    both = labels.find(probabilities=[good, other], label=label)
    scores = [torch.tensor(found.label_score.to_numpy()) for found in (alone, both)]
    assert average_precision(scores[1], wrong) > average_precision(scores[0], wrong) - 0.02


def test_wrong_probability_is_calibrated():
    table, label, wrong = problem(sharp=3.0)
    estimated = labels.find(probabilities=table, label=label).wrong_probability.to_numpy()
    for low in (0.0, 0.5):
        part = (estimated >= low) & (estimated < low + 0.5)
        assert abs(estimated[part].mean() - wrong.numpy()[part].mean()) < 0.12, low


def test_array_types_are_accepted_and_not_modified():
    table, label, _ = problem(50)
    expected = labels.find(probabilities=table, label=label)
    frozen = table.numpy().copy()
    frozen.flags.writeable = False
    for given_table in (table.tolist(), frozen, table.numpy()[::-1][::-1], table.double()):
        found = labels.find(probabilities=given_table, label=label.tolist())
        assert (found.is_label_issue == expected.is_label_issue).all()
        assert np.allclose(found.label_score, expected.label_score, atol=1e-5)
    assert (frozen == table.numpy()).all()


def test_probabilities_zero_and_one_give_finite_scores():
    table = np.repeat(np.eye(2), 50, axis=0)
    label = np.repeat([0, 1], 50)
    label[7] = 1
    found = labels.find(probabilities=table, label=label)
    assert np.flatnonzero(found.is_label_issue).tolist() == [7]
    assert found.label_score.notna().all()


def test_zero_samples():
    found = labels.find(probabilities=np.zeros((0, 3)), label=[])
    assert len(found) == 0
    assert found.attrs["noise_rate"] == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.6, -0.1], r"probabilities\[1, 2\] = -0.1 is not a probability"),
        ([0.5, float("nan"), 0.5], r"probabilities\[1, 1\] = nan is not a probability"),
        ([float("inf"), 0.0, 0.0], r"probabilities\[1, 0\] = inf is not a probability"),
        ([0.5, 0.2, 0.1], "row 1 of probabilities sums to 0.8, not to 1: pass probabilities"),
    ],
)
def test_first_invalid_row_is_named(row, message):
    table = [[0.2, 0.3, 0.5], row, row]
    with pytest.raises(ValueError, match=message):
        labels.find(probabilities=table, label=[0, 1, 2])


@pytest.mark.parametrize(
    ("table", "label", "kind", "message"),
    [
        ([[0.5, 0.5]], None, TypeError, "need the given labels"),
        ([[0.5, 0.5]], [2], ValueError, r"label\[0\] = 2 is not a valid class: choose 0 to 1"),
        ([[0.5, 0.5]], [-1], ValueError, r"label\[0\] = -1"),
        ([[0.5, 0.5]], [0, 1], ValueError, r"must have shape \(1,\), as probabilities, got \(2,\)"),
        ([[0.5, 0.5]], [0.0], TypeError, "class numbers, the columns of probabilities, got"),
        ([[0.5, 0.5]], ["cat"], ValueError, r"class_names must be 2 names, .* got \['cat'\]"),
        ([0.5, 0.5], [0], ValueError, r"\(N, C\) with C >= 2, got \(2,\)"),
        ([[1, 0]], [0], TypeError, "floating-point"),
        ([["a", "b"]], [0], TypeError, "floating-point numbers, got <U1"),
    ],
)
def test_invalid_probabilities_and_labels_raise(table, label, kind, message):
    with pytest.raises(kind, match=message):
        labels.find(probabilities=table, label=label)


def test_class_names_need_one_name_per_column():
    found = labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat", "dog"])
    assert found.attrs["class_names"] == ["cat", "dog"]
    with pytest.raises(ValueError, match="must be 2 names"):
        labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat"])
