"""Judging by out-of-sample probabilities alone."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from label_samples import average_precision, best_f1, f1

from noiseproof import labels
from noiseproof.labels import from_probabilities


def problem(samples=3000, classes=6, rate=0.25, seed=0, sharp=3.0):
    generator = torch.Generator().manual_seed(seed)
    clean = torch.randint(classes, (samples,), generator=generator)
    wrong = torch.rand(samples, generator=generator) < rate
    label = torch.where(wrong, (clean + 1) % classes, clean)
    logits = torch.randn(samples, classes, generator=generator)
    logits[torch.arange(samples), clean] += sharp
    return logits.softmax(1), label, wrong


def test_wrong_labels_are_ranked_as_self_confidence_does_and_counted_well():
    table, label, wrong = problem()
    found = labels.find(probabilities=table, label=label)
    score, own = torch.tensor(found.label_score.to_numpy()), table.gather(1, label[:, None]).squeeze(1)
    assert average_precision(score, wrong) == pytest.approx(average_precision(own, wrong), abs=1e-4)
    assert f1(torch.tensor(found.is_label_issue.to_numpy()), wrong) > best_f1(score, wrong) - 0.02
    assert (found.predicted_label.to_numpy() == table.argmax(1).numpy()).all()
    assert found.attrs["noise_rate"] == pytest.approx(0.25, abs=0.05)
    assert np.diag(np.roll(found.attrs["transition"], -1, axis=1)).mean() == pytest.approx(0.25, abs=0.06)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 2**20))
def test_rows_are_read_as_a_loop_reads_them(samples, classes, seed):
    table, label, _ = problem(samples, classes, seed=seed)
    found = from_probabilities.read_rows(label, table)
    for row, given_label in enumerate(label.tolist()):
        values = table[row].tolist()
        assert float(found.own[row]) == values[given_label]
        assert float(found.highest[row]) == max(values)
        same = values[given_label] == max(values)
        assert int(found.best[row]) == (given_label if same else values.index(max(values)))


def test_suspects_that_look_like_their_label_count_for_the_second_best_class():
    table = torch.tensor([[0.9, 0.05, 0.05]] * 20 + [[0.05, 0.9, 0.05]] * 20)
    table[0], table[20:28] = torch.tensor([0.4, 0.25, 0.35]), torch.tensor([0.06, 0.04, 0.9])
    table[28:] = torch.tensor([0.05, 0.05, 0.9])
    label = torch.tensor([0] * 20 + [1] * 8 + [2] * 12)
    table[1] = torch.tensor([0.04, 0.06, 0.9])
    found = labels.find(probabilities=table, label=label)
    assert found.is_label_issue[[1, *range(20, 28)]].all()
    doubted = from_probabilities.second_best(label[:1], table[:1])
    assert doubted.tolist() == [2]
    assert found.attrs["noise_rate"] == found.is_label_issue.mean()


def test_blocks_change_nothing(monkeypatch):
    table, label, _ = problem(101)
    whole = labels.find(probabilities=table, label=label)
    monkeypatch.setattr(from_probabilities, "CELLS", 60)
    assert labels.find(probabilities=table, label=label).equals(whole)


def test_every_kind_of_array_is_read_and_none_is_written_to():
    table, label, _ = problem(50)
    expected = labels.find(probabilities=table, label=label)
    frozen = table.numpy().copy()
    frozen.flags.writeable = False
    for given_table in (table.tolist(), frozen, table.numpy()[::-1][::-1], table.double()):
        found = labels.find(probabilities=given_table, label=label.tolist())
        assert (found.is_label_issue == expected.is_label_issue).all()
        assert np.allclose(found.label_score, expected.label_score, atol=1e-5)
    assert (frozen == table.numpy()).all()


def test_certainty_does_not_become_infinite():
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    found = labels.find(probabilities=table, label=[0, 1, 1, 1])
    assert found.is_label_issue.tolist() == [False, False, True, False]
    assert found.label_score.notna().all()


def test_no_samples_are_no_problem():
    found = labels.find(probabilities=np.zeros((0, 3)), label=[])
    assert len(found) == 0
    assert found.attrs["noise_rate"] == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.6, -0.1], r"probabilities\[1, 2\] = -0.1 is no probability"),
        ([0.5, float("nan"), 0.5], r"probabilities\[1, 1\] = nan is no probability"),
        ([float("inf"), 0.0, 0.0], r"probabilities\[1, 0\] = inf is no probability"),
        ([0.5, 0.2, 0.1], "row 1 of probabilities sums to 0.8, not to 1: pass probabilities"),
    ],
)
def test_the_first_bad_row_is_named(row, message, monkeypatch):
    monkeypatch.setattr(from_probabilities, "CELLS", 3)
    table = [[0.2, 0.3, 0.5], row, row]
    with pytest.raises(ValueError, match=message):
        labels.find(probabilities=table, label=[0, 1, 2])


@pytest.mark.parametrize(
    ("table", "label", "kind", "message"),
    [
        ([[0.5, 0.5]], None, TypeError, "need the given labels"),
        ([[0.5, 0.5]], [2], ValueError, r"label\[0\] = 2 is no class: they go from 0 to 1"),
        ([[0.5, 0.5]], [-1], ValueError, r"label\[0\] = -1"),
        ([[0.5, 0.5]], [0, 1], ValueError, r"\(2,\) does not fit 1 rows"),
        ([[0.5, 0.5]], [0.0], TypeError, "class numbers, got float64"),
        ([0.5, 0.5], [0], ValueError, r"\(N, C\) with C >= 2, got the shape \(2,\)"),
        ([[1, 0]], [0], TypeError, "floating-point"),
        ([["a", "b"]], [0], TypeError, "table of numbers"),
    ],
)
def test_misfits_are_told(table, label, kind, message):
    with pytest.raises(kind, match=message):
        labels.find(probabilities=table, label=label)


def test_class_names_are_one_per_column():
    found = labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat", "dog"])
    assert found.attrs["class_names"] == ["cat", "dog"]
    with pytest.raises(ValueError, match="must be 2 names"):
        labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat"])
