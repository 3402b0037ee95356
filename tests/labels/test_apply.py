"""Apply decisions to labels; make decisions by thresholds."""

import pandas
import pytest
import torch

from noiseproof import labels, train
from noiseproof.data import LabelledData, load
from noiseproof.labels import Decision

NAMES = ["cat", "dog", "owl"]


@pytest.fixture
def data():
    return LabelledData(torch.rand(5, 2), [0, 1, 2, 0, 1], class_names=NAMES, index=[10, 11, 12, 13, 14])


@pytest.fixture
def found():
    frame = pandas.DataFrame(
        {
            "index": [10, 11, 12, 13, 14],
            "label_score": [0.02, 0.2, 0.6, 0.04, float("nan")],
            "given_label": [0, 1, 2, 0, 1],
            "predicted_label": [1, 2, 0, 0, -1],
        }
    )
    frame.attrs["class_names"] = NAMES
    return frame


def test_apply_relabels_and_drops_and_keeps_the_other_samples(data):
    decisions = [
        Decision(10, "relabel", "owl"),
        Decision(13, "drop"),
        Decision(11, "keep"),
        Decision(14, "unsure"),
    ]
    better = labels.apply(data, decisions)
    assert better.label.tolist() == [2, 1, 2, 1]
    assert better.index.tolist() == [10, 11, 12, 14]
    assert data.label.tolist() == [0, 1, 2, 0, 1]
    assert torch.equal(better.batch([3]).input, data.batch([4]).input)


def test_apply_accepts_dicts_data_frame_file_and_folder(data, tmp_path):
    rows = [
        {"sample": 10, "decision": "relabel", "label": 2},
        {"sample": 13, "decision": "drop", "label": None},
    ]
    labels.DecisionLog(tmp_path / "decisions.jsonl").append(
        [Decision(10, "relabel", "owl"), Decision(13, "drop")]
    )
    ways = (rows, pandas.DataFrame(rows), tmp_path / "decisions.jsonl", str(tmp_path))
    for way in ways:
        assert labels.apply(data, way).label.tolist() == [2, 1, 2, 1]


def test_decide_relabels_and_drops_by_threshold(found):
    decisions = labels.decide(found, relabel=0.9, drop=0.7)
    assert [(one.sample, one.decision, one.label) for one in decisions] == [
        (10, "relabel", "dog"),
        (11, "drop", None),
        (13, "drop", None),  # no other class is suggested
    ]
    assert [one.decision for one in labels.decide(found, relabel=0.7, drop=0.95)] == [
        "drop",
        "relabel",
        "drop",
    ]
    found["wrong_probability"] = [0.1, 0.1, 0.99, 0.1, 0.0]
    assert [(one.sample, one.label) for one in labels.decide(found, relabel=0.9)] == [(12, "cat")]


def test_decide_relabels_by_predicted_probability(found):
    found["wrong_probability"] = [0.99, 0.98, 0.1, 0.95, 0.0]
    found["predicted_probability"] = [0.95, 0.5, 0.9, float("nan"), float("nan")]
    decisions = labels.decide(found, relabel=0.9, drop=0.4)
    assert [(one.sample, one.decision, one.label) for one in decisions] == [
        (10, "relabel", "dog"),
        (11, "drop", None),
        (12, "relabel", "cat"),
        (13, "drop", None),
    ]
    assert decisions[0].why == "rule: the suggested class is right with probability 0.950, relabel from 0.9"
    assert decisions[1].why == "rule: wrong with probability 0.980, drop from 0.4"


def test_invalid_decisions_and_thresholds_raise_value_error(data, found):
    with pytest.raises(ValueError, match="a decision about sample 99, which is not in the data"):
        labels.apply(data, [Decision(99, "keep")])
    with pytest.raises(ValueError, match="sample 10 is relabelled to 'cow', which is not a class"):
        labels.apply(data, [Decision(10, "relabel", "cow")])
    with pytest.raises(ValueError, match="which is not a class"):
        labels.apply(data, [Decision(10, "relabel", 3)])
    with pytest.raises(ValueError, match="all 5 samples are dropped"):
        labels.apply(data, [Decision(number, "drop") for number in range(10, 15)])
    with pytest.raises(ValueError, match="a threshold is needed"):
        labels.decide(found)
    with pytest.raises(ValueError, match=r"relabel=1\.5 must be a probability"):
        labels.decide(found, relabel=1.5)
    with pytest.raises(ValueError, match=r"needs 'sample', got .*; make decisions with labels\.decide"):
        labels.apply(data, found.assign(label_score=0.5))
    with pytest.raises(TypeError, match=r"data is a DataFrame: give LabelledData\(X, labels\)"):
        labels.apply(found, [Decision(10, "keep")])


@pytest.mark.slow
def test_find_apply_and_retrain(tmp_path):
    config = train.Config(
        noise="symmetric(0.4)", loss="gce(q=0.7)", model="mlp(norm=True)", lr=0.05, epochs=20
    )
    run = train.fit(config.replace(out=str(tmp_path / "noisy")))
    found = labels.find(run)
    data = load("digits").with_labels(run.record.label)
    better = labels.apply(data, labels.decide(found, relabel=0.5))
    wrong_before = (data.label != data.clean_label).float().mean()
    wrong_after = (better.label != better.clean_label).float().mean()
    assert wrong_after < 0.3 * wrong_before
    again = train.fit(
        config.replace(noise=None, loss="ce", out=str(tmp_path / "clean")),
        data=better,
        test=load("digits", split="test"),
    )
    assert again.result["final_test_accuracy"] >= run.result["final_test_accuracy"] - 0.02


def test_decisions_in_a_dict_raise_an_error_that_shows_a_list():
    data = LabelledData(torch.zeros(2, 1), torch.tensor([0, 1]))
    with pytest.raises(TypeError, match="must be a list, not a dict"):
        labels.apply(data, {1: "cat"})
