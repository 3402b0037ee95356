"""Facts and sentences of the summary."""

import dataclasses

import pytest
import torch
from small_runs import SETTINGS, write_run

from noiseproof.dynamics import Record
from noiseproof.report.evidence import Evidence
from noiseproof.report.page import tiles
from noiseproof.report.summary import facts_of, summarise, verdict
from noiseproof.report.text import NONE
from noiseproof.testing import example_record


def ten_samples():
    """Ten samples, four wrong: three of them memorised, one recovered; five of six right ones fitted."""
    clean = torch.zeros(10, dtype=torch.int64)
    label = torch.tensor([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    prediction = torch.tensor([1, 1, 1, 0, 0, 0, 0, 0, 0, 2])
    margin = torch.where(prediction == label, 3.0, -3.0)
    return Record(
        index=torch.arange(10),
        label=label,
        clean_label=clean,
        class_names=("a", "b", "c"),
        margin=margin.half().expand(2, 10),
        prediction=prediction.int().expand(2, 10),
    )


def test_facts_and_summary_of_ten_samples(tmp_path):
    run = write_run(
        tmp_path / "run", ten_samples(), settings=SETTINGS | {"loss": "ce"}, outputs={}, metrics=[]
    )
    facts = facts_of(Evidence(run))
    assert (facts.memorised, facts.recovered) == (0.75, 0.25)
    assert facts.doubted == pytest.approx(0.4)
    assert facts.fitted == pytest.approx(5 / 6)
    p = torch.sigmoid(torch.tensor(3.0))
    wrong, all_of_them = 3 * (1 - p) + p, 8 * (1 - p) + 2 * p
    assert facts.gradient_share == pytest.approx(float(wrong / all_of_them), rel=1e-3)
    words = " ".join(summarise(Evidence(run), facts))
    assert "40.0% of the labels are wrong. The final network predicts 75% of the wrong labels" in words
    assert "the true class for 25% of them" in words
    assert "of the right labels it predicts 83%" in words
    assert (
        "mlp was trained with ce on digits with noise symmetric(0.3): 10 samples of 3 classes, 2 epochs."
        in words
    )
    assert "There was no test data." in words


def test_saved_probabilities_replace_the_recorded_predictions(tmp_path):
    run = write_run(tmp_path / "run", ten_samples(), outputs={"train_probability": torch.eye(3)[[0] * 10]})
    facts = facts_of(Evidence(run))
    assert (facts.memorised, facts.recovered, facts.fitted) == (0.0, 1.0, 1.0)


def test_summary_names_final_and_best_test_accuracy(tmp_path):
    evidence = Evidence(write_run(tmp_path / "run"))
    facts = facts_of(evidence)
    assert (facts.final_test, facts.best_test, facts.best_epoch) == (pytest.approx(0.8), 0.9, 4)
    words = " ".join(summarise(evidence, facts))
    assert (
        "The final test accuracy is 80.0%, 10.0 points below its best: the best epoch, 4, had 90.0%." in words
    )


def test_summary_names_the_method_instead_of_the_loss(tmp_path):
    evidence = Evidence(write_run(tmp_path / "run", settings=SETTINGS | {"method": "elr(lam=3.0)"}))
    assert "trained with elr(lam=3.0) on digits" in summarise(evidence, facts_of(evidence))[0]


def test_summary_says_suspected_without_clean_labels():
    evidence = Evidence(example_record(known=False))
    facts = facts_of(evidence)
    words = " ".join([*summarise(evidence, facts), verdict(facts)])
    assert "Clean labels are not known." in words
    assert (facts.recovered, facts.precision) == (None, None)
    assert "really" not in words
    assert f"{facts.suspects} labels of 400 are suspected" in words


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"fitted": 0.3}, "underfits"),
        ({"memorised": 0.9}, "memorised the wrong labels"),
        ({"memorised": 0.2, "best_test": 0.9, "final_test": 0.8}, "test accuracy fell"),
        ({"memorised": 0.1, "best_test": 0.9, "final_test": 0.89}, "did not fit most"),
        (
            {"memorised": None, "doubted": 0.0, "suspects": 1},
            "No noise was added; 1 label of 10 is suspected.",
        ),
        ({"is_known": False, "memorised": None, "suspects": 0}, "0 labels of 10 are suspected."),
        ({"memorised": None, "weak": True}, "not reliable evidence about labels"),
    ],
)
def test_verdict_describes_the_run(changes, expected):
    facts = facts_of(Evidence(ten_samples(), loss="ce"))
    facts = dataclasses.replace(facts, fitted=0.99, final_test=None, best_test=None)
    assert expected in verdict(dataclasses.replace(facts, **changes))


def test_summary_warns_if_the_network_learned_little():
    evidence = Evidence(ten_samples(), loss="ce")
    facts = dataclasses.replace(facts_of(evidence), suspects=3)
    for fitted, expected in ((0.3, True), (0.95, False)):
        words = " ".join(summarise(evidence, dataclasses.replace(facts, fitted=fitted)))
        assert ("is not reliable evidence about labels" in words) == expected


def test_run_without_wrong_labels():
    record = ten_samples()
    record = dataclasses.replace(record, clean_label=record.label)
    evidence = Evidence(record, loss="ce")
    facts = facts_of(evidence)
    assert (facts.doubted, facts.memorised, facts.precision) == (0.0, None, None)
    words = " ".join(summarise(evidence, facts))
    assert "No noise was added; the final network predicts 80% of the labels." in words
    assert [tile.name for tile in tiles(facts)] == ["of the labels are probably wrong", "suspects"]


def test_run_without_suspects_has_complete_sentences():
    record = dataclasses.replace(ten_samples(), clean_label=None)
    facts = dataclasses.replace(facts_of(Evidence(record)), memorised=None, fitted=0.5, suspects=0)
    words = " ".join(summarise(Evidence(record), facts))
    assert "Clean labels are not known; the final network predicts 50% of the labels." in words
    assert NONE not in words


def test_summary_counts_unlearned_classes(tmp_path):
    record = example_record(400)
    lost = torch.where(record.prediction == 2, 1, record.prediction)
    margin = torch.where(record.label == 2, record.margin - 14, record.margin)
    run = write_run(tmp_path / "run", dataclasses.replace(record, prediction=lost, margin=margin), outputs={})
    facts = facts_of(Evidence(run))
    assert facts.unlearned == 1
    assert "The network never learned 1 of 4 classes." in summarise(Evidence(run), facts)
    good = dataclasses.replace(facts, memorised=0.1, fitted=0.9, final_test=0.9, best_test=0.9, weak=False)
    assert (
        verdict(good) == "The network did not fit most of the wrong labels, but never learned 1 of 4 classes."
    )
