"""Find wrong labels in synthetic records; invariances of the findings."""

from dataclasses import replace

import numpy as np
import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from label_samples import CLASSES, average_precision, best_f1, f1, synthetic_record

from noiseproof import labels
from noiseproof.data import LabelledData
from noiseproof.dynamics import Record
from noiseproof.dynamics.statistics import available


def judged(record, **options):
    found = labels.find(record, **options)
    return found, torch.tensor(found.label_score.to_numpy()), torch.tensor(found.is_label_issue.to_numpy())


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("memorises", [True, False])
def test_wrong_labels_are_found_at_each_noise_rate(rate, memorises):
    record, wrong = synthetic_record(rate=rate, memorises=memorises)
    found, score, issue = judged(record)
    assert average_precision(score, wrong) > 0.98
    assert f1(issue, wrong) > best_f1(score, wrong) - 0.02
    assert found.attrs["noise_rate"] == pytest.approx(float(wrong.float().mean()), abs=0.02)


def test_noise_rates_and_transition_are_estimated():
    record, wrong = synthetic_record(samples=8000, rate=0.3, memorises=False)
    record.label[:] = torch.where(wrong, (record.clean_label + 1) % CLASSES, record.clean_label)
    record.prediction[:] = torch.where(record.margin > 0, record.label, record.clean_label.int())
    found = labels.find(record)
    truth = 0.7 * np.eye(CLASSES) + 0.3 * np.roll(np.eye(CLASSES), 1, axis=1)
    assert np.abs(np.array(found.attrs["transition"]) - truth).max() < 0.04
    assert found.attrs["class_noise_rate"] == pytest.approx([0.3] * CLASSES, abs=0.04)


def test_clean_labels_do_not_change_findings():
    record, _ = synthetic_record(samples=300)
    with_truth, without = labels.find(record), labels.find(replace(record, clean_label=None))
    assert with_truth.equals(without)
    assert with_truth.attrs == without.attrs


def test_order_of_samples_does_not_change_findings():
    record, _ = synthetic_record(samples=500)
    order = torch.randperm(500, generator=torch.Generator().manual_seed(5))
    columns = record.margin[:, order], record.prediction[:, order]
    mixed = Record(record.index[order], record.label[order], None, record.class_names, *columns)
    first, second = labels.find(record), labels.find(mixed).sort_values("index").reset_index(drop=True)
    assert list(first["index"]) == list(range(1, 1501, 3))
    assert (first.is_label_issue == second.is_label_issue).all()
    assert np.allclose(first.label_score, second.label_score, atol=1e-5)


def test_frame_has_documented_columns_and_plain_attributes():
    record, _ = synthetic_record(samples=200)
    found = labels.find(record)
    contract = ["index", "is_label_issue", "label_score", "wrong_probability"]
    contract += ["given_label", "given_name", "predicted_label", "predicted_name", "predicted_probability"]
    assert list(found.columns) == [*contract, *available(record)]
    assert list(labels.find(record, statistics=False).columns) == contract
    assert found.is_label_issue.dtype == bool
    assert ((found.label_score < 0.5) == found.is_label_issue).all()
    assert found.label_score.between(0, 1).all()
    assert (found.given_label == record.label.numpy()).all()
    assert all(type(value) in (float, list, int, bool) for value in found.attrs.values())


@pytest.mark.parametrize("memorises", [True, False])
def test_wrong_probability_of_record_has_the_order_of_label_score(memorises):
    record, _ = synthetic_record(memorises=memorises)
    found = labels.find(record).sort_values("label_score")
    assert found.wrong_probability.is_monotonic_decreasing
    assert found.wrong_probability.nunique() > 0.99 * found.label_score.nunique()
    assert found.wrong_probability.between(0, 1).all()


def test_samples_without_epochs_are_unknown_and_not_suspects():
    record, wrong = synthetic_record(samples=400)
    record.margin[:, :50], record.prediction[:, :50] = torch.nan, -1
    found = labels.find(record)
    assert found.label_score[:50].isna().all()
    assert not found.is_label_issue[:50].any()
    assert (found.predicted_label[:50] == -1).all()
    assert found.predicted_name[:50].isna().all()
    assert found.label_score[50:].notna().all()
    assert f1(torch.tensor(found.is_label_issue.to_numpy())[50:], wrong[50:]) > 0.95


def test_missing_epochs_of_a_sample_are_ignored():
    record, wrong = synthetic_record(samples=1500, memorises=False)
    gone = torch.rand(record.margin.shape, generator=torch.Generator().manual_seed(3)) < 0.5
    record.margin[gone], record.prediction[gone] = torch.nan, -1
    _, score, issue = judged(record)
    assert f1(issue, wrong) > max(0.95, best_f1(score, wrong) - 0.02)


def test_labels_always_predicted_are_not_suspects():
    record, _ = synthetic_record(samples=300, rate=0.0, memorises=False)
    sure = replace(record, prediction=record.label.int().expand(30, 300).clone())
    found = labels.find(sure)
    assert not found.is_label_issue.any()
    assert found.attrs["noise_rate"] == 0
    assert found.attrs["transition"] == np.eye(CLASSES).tolist()


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 2**20))
def test_random_records_are_judged(samples, epochs, seed):
    generator = torch.Generator().manual_seed(seed)
    prediction = torch.randint(-1, 3, (epochs, samples), generator=generator).int()
    margin = torch.where(prediction < 0, torch.nan, torch.randn(epochs, samples, generator=generator)).half()
    label = torch.randint(3, (samples,), generator=generator)
    found = labels.find(Record(torch.arange(samples), label, None, tuple("abc"), margin, prediction))
    seen = (prediction >= 0).any(0).numpy()
    assert (found.label_score.notna() == seen).all()
    assert found.label_score[seen].between(0, 1).all()
    assert np.allclose(np.sum(found.attrs["transition"], axis=1), 1)
    assert found.attrs["noise_rate"] <= 1


def test_probabilities_complement_the_record():
    record, wrong = synthetic_record(samples=1500, epochs=6, memorises=False)
    record.margin[:] += 8 * torch.randn(6, 1500, generator=torch.Generator().manual_seed(1)).half()
    table = torch.full((1500, CLASSES), 0.05)
    table[torch.arange(1500), record.clean_label] = 0.8
    record.margin[:, :40], record.prediction[:, :40] = torch.nan, -1
    alone, both = judged(record)[1], judged(record, probabilities=table)[1]
    assert alone[:40].isnan().all()
    assert not both.isnan().any()
    columns = pandas.DataFrame(table.numpy()[:, ::-1], columns=record.class_names[::-1])
    assert judged(record, probabilities=columns)[1].equal(both)
    assert average_precision(both[:40], wrong[:40]) == 1
    assert average_precision(both[40:], wrong[40:]) > average_precision(alone[40:], wrong[40:])


def test_invalid_arguments_raise():
    record, _ = synthetic_record(samples=20)
    empty = replace(record, margin=record.margin[:0], prediction=record.prediction[:0])
    with pytest.raises(
        ValueError,
        match=r"Record\(0 epochs of 20 samples, 5 classes\) is empty: train for at least one epoch",
    ):
        labels.find(empty)
    with pytest.raises(TypeError, match="a run, or probabilities with label="):
        labels.find()
    with pytest.raises(TypeError, match="data need their labels: label="):
        labels.find([[1.0], [2.0]])
    with pytest.raises(TypeError, match="label= cannot be used here: a run has its own labels"):
        labels.find(record, label=record.label)
    with pytest.raises(TypeError, match="folds= and model= cannot be used here: there are no data"):
        labels.find(probabilities=np.eye(2), label=[0, 1], folds=5, model="linear")
    with pytest.raises(TypeError, match="folds= cannot be used here: probabilities replace cross-fitting"):
        labels.find(np.eye(2), label=[0, 1], probabilities=np.eye(2), folds=2)
    with pytest.raises(TypeError, match="class_names= cannot be used here: the classes of data are those of"):
        labels.find(np.eye(2), label=[0, 1], class_names=["a", "b"])
    with pytest.raises(ValueError, match="there are 3 rows and 2 labels"):
        labels.find(np.eye(3), label=[0, 1], probabilities=np.eye(2))
    with pytest.raises(ValueError, match="label 'c' is not among class_names: a, b"):
        labels.find(label=["a", "c"], probabilities=np.eye(2), class_names=["a", "b"])
    with pytest.raises(ValueError, match=r"must have shape \(20, 5\), as the record has 20 samples"):
        labels.find(record, probabilities=np.full((20, 3), 1 / 3))
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        labels.find("nowhere")


def test_probabilities_replace_cross_fitting_of_data():
    """The labels of the data, their index and names; columns in the order of sorted labels or class_names."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    label = (rows[:, 0] > 0).astype(int)
    label[3] = 1 - label[3]
    sure = 1 / (1 + np.exp(-5 * rows[:, 0]))
    probabilities = np.c_[1 - sure, sure]
    wanted = labels.find(probabilities=probabilities, label=label)
    words = np.array(["no", "yes"])[label]
    data = LabelledData(torch.tensor(rows), torch.tensor(label), index=torch.arange(60) + 7)
    frame = pandas.DataFrame(rows, index=[f"r{number}" for number in range(60)])
    found = {
        "array": labels.find(rows, label=label, probabilities=probabilities),
        "data": labels.find(data, probabilities=probabilities),
        "words": labels.find(frame, label=words, probabilities=probabilities),
        "names": labels.find(label=words, probabilities=probabilities[:, ::-1], class_names=["yes", "no"]),
    }
    columns = pandas.DataFrame(probabilities[:, ::-1], columns=["yes", "no"])
    found["columns"] = labels.find(label=words, probabilities=columns)
    found["tensor"] = labels.find(label=torch.tensor(label), probabilities=probabilities)
    with pytest.raises(ValueError, match="the same in different orders"):
        labels.find(label=words, probabilities=[columns, columns[["no", "yes"]]])
    for one in found.values():
        np.testing.assert_allclose(one.wrong_probability, wanted.wrong_probability, rtol=1e-6)
        assert one.is_label_issue.to_numpy().nonzero()[0].tolist() == [3]
    assert found["data"]["index"].tolist() == list(range(7, 67))
    assert found["words"].index[3] == "r3"
    assert found["words"].given_name.iloc[3] == found["names"].given_name.iloc[3] == words[3]


def test_infinite_values_give_a_warning():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[3, 1] = np.inf
    with pytest.warns(UserWarning, match="infinite"):
        labels.find(X, label=np.arange(30) % 2, model="linear", folds=2)
