"""Find wrong labels by out-of-sample probabilities alone."""

import numpy as np
import pandas
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
        ([[0.5, 0.5]], [0.5], ValueError, r"label\[0\] = 0.5 has a fraction"),
        ([[0.5, 0.5]], ["cat"], ValueError, "have 2 columns, but the number of classes in label is 1: give"),
        ([0.5, 0.5], [0], ValueError, r"\(N, C\) with C >= 2, got \(2,\)"),
        ([[1, 0]], [0], TypeError, "floating-point"),
        ([["a", "b"]], [0], TypeError, "floating-point numbers, got <U1"),
    ],
)
def test_invalid_probabilities_and_labels_raise(table, label, kind, message):
    with pytest.raises(kind, match=message):
        labels.find(probabilities=table, label=label)


CLASSES = ["low", "mid", "high"]


def three_classes(samples=60):
    """Probabilities of the class of each row, and labels, of which that of row 4 is wrong."""
    table = np.eye(3)[np.arange(samples) % 3] * 0.7 + 0.1
    label = np.arange(samples) % 3
    label[4] = 2
    return table, label


def test_names_are_the_labels_themselves():
    table, label = three_classes()
    for given in (label, label.astype(float), pandas.array(label), torch.tensor(label)):
        found = labels.find(probabilities=table, label=given)
        assert (found.given_name == label).all()
        assert found.predicted_name[4] == 1
    words = np.array(CLASSES)[label]
    found = labels.find(probabilities=table, label=words, class_names=CLASSES)
    assert (found.given_name == words).all()
    assert found.attrs["class_names"] == CLASSES


@pytest.mark.parametrize("names", [[10, 20, 30], ["10", "20", "30"], [10.0, 20.0, 30.0]])
def test_columns_named_by_the_labels_may_be_in_any_order(names):
    table, label = three_classes()
    columns = pandas.DataFrame(table, columns=names)
    for order in ([0, 1, 2], [2, 0, 1]):
        found = labels.find(probabilities=columns.iloc[:, order], label=10 * (label + 1))
        assert np.flatnonzero(found.is_label_issue).tolist() == [4]
        assert found.predicted_name[4] == 20
    found = labels.find(probabilities=columns, label=label)  # other numbers: positions
    assert np.flatnonzero(found.is_label_issue).tolist() == [4]
    found = labels.find(probabilities=table, label=10 * (label + 1), class_names=[10, 20, 30])
    assert found.predicted_name[4] == 20


def test_contradictions_between_names_raise():
    table, label = three_classes()
    words, columns = np.array(CLASSES)[label], pandas.DataFrame(table, columns=CLASSES)
    with pytest.raises(
        ValueError, match=r"class_names are high, low, mid, but the columns .* are low, mid, high"
    ):
        labels.find(probabilities=columns, label=words, class_names=["high", "low", "mid"])
    with pytest.raises(ValueError, match="class_names must be different, but 'mid' occurs 2 times"):
        labels.find(probabilities=table, label=words, class_names=["low", "mid", "mid"])
    with pytest.raises(ValueError, match="columns of probabilities must be different, but 'mid' occurs 2"):
        labels.find(probabilities=columns.set_axis(["low", "mid", "mid"], axis=1), label=words)
    with pytest.raises(
        ValueError, match="label 'high' is not among the columns of probabilities: low, mid, top"
    ):
        labels.find(probabilities=columns.rename(columns={"high": "top"}), label=words)


def test_categories_in_another_order_than_unnamed_columns_warn():
    table, label = three_classes()
    words = pandas.Categorical(np.array(CLASSES)[label], categories=CLASSES)
    with pytest.warns(
        UserWarning, match="categories low, mid, high, but .* in the sorted order high, low, mid"
    ):
        labels.find(probabilities=table[:, [2, 0, 1]], label=words)
    found = labels.find(probabilities=table, label=words, class_names=CLASSES)
    assert np.flatnonzero(found.is_label_issue).tolist() == [4]


def test_labels_with_the_index_of_probabilities_in_another_order_warn():
    table, label = three_classes()
    mixed = pandas.Series(label).iloc[::-1]
    with pytest.warns(UserWarning, match="label has the index of probabilities in another order"):
        labels.find(probabilities=pandas.DataFrame(table), label=mixed)
    with pytest.warns(UserWarning, match="label has the index of X in another order"):
        labels.find(pandas.DataFrame(table), label=mixed, probabilities=table)


def test_probabilities_that_tell_nothing_mark_nothing_and_are_weak():
    label = np.arange(60) % 3
    found = labels.find(probabilities=np.full((60, 3), 1 / 3), label=label)
    assert not found.is_label_issue.any()
    assert found.attrs["weak"]
    constant = labels.find(probabilities=np.tile([0.6, 0.3, 0.1], (60, 1)), label=label)
    assert constant.attrs["weak"]
    assert not labels.find(probabilities=three_classes()[0], label=label).attrs["weak"]


def test_class_names_need_one_name_per_column():
    found = labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat", "dog"])
    assert found.attrs["class_names"] == ["cat", "dog"]
    with pytest.raises(ValueError, match="must be 2 names"):
        labels.find(probabilities=[[0.5, 0.5]], label=[0], class_names=["cat"])


def test_probabilities_in_bfloat16_are_those_in_float32():
    table = torch.eye(3)[torch.arange(30) % 3] * 0.5 + 0.5 / 3
    found = labels.find(probabilities=table.bfloat16(), label=torch.arange(30) % 3)
    wanted = labels.find(probabilities=table.bfloat16().float(), label=torch.arange(30) % 3)
    pandas.testing.assert_frame_equal(found, wanted)


def test_labels_that_may_be_names_or_numbers_of_columns():
    table = np.eye(3)[np.arange(30) % 2 + 1] * 0.5 + 0.5 / 3
    with pytest.warns(UserWarning, match="read as the names of the columns, 1, 2, 3, not as column numbers"):
        found = labels.find(probabilities=table, label=np.arange(30) % 2 + 1, class_names=[1, 2, 3])
    assert found.given_label.tolist() == [0, 1] * 15


def test_labels_in_bfloat16_and_large_numbers():
    table = torch.eye(3)[torch.arange(30) % 3] * 0.5 + 0.5 / 3
    found = labels.find(probabilities=table, label=(torch.arange(30) % 3).bfloat16())
    assert found.given_label.tolist() == [0, 1, 2] * 10
    with pytest.raises(
        ValueError, match=r"label\[0\] = 9223372036854775809 is not a valid class: choose 0 to 2"
    ):
        labels.find(probabilities=table, label=[2**63 + 1] * 30)
