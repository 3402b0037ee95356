"""Weak findings say so in words."""

import math

import pytest
import torch
from label_samples import made_up

from noiseproof import labels
from noiseproof.dynamics import Record
from noiseproof.labels.weakness import weakness


def record_of(margin, prediction, epochs=8):
    label = torch.tensor([0] * 36 + [1] * 4)
    return Record(
        index=torch.arange(40),
        label=label,
        clean_label=None,
        class_names=("a", "b"),
        margin=margin(label).half().expand(epochs, 40),
        prediction=prediction(label).int().expand(epochs, 40),
    )


@pytest.mark.parametrize(
    ("margin", "prediction", "words"),
    [
        (lambda y: torch.full((40,), -0.5), lambda y: y, "100% of its labels and is only 38% sure of those:"),
        (
            lambda y: torch.where(y == 0, math.log(9), -math.log(9)),
            torch.zeros_like,
            "90% of its labels and is 90% sure of those, like one that is still learning or always says the",
        ),
    ],
    ids=["unsure", "blind"],
)
def test_the_reason_is_the_one_that_holds(margin, prediction, words):
    told = weakness(labels.find(record_of(margin, prediction)).attrs)
    assert words in told
    assert told.endswith("such as gce.")


def test_strong_findings_and_those_without_a_record_are_not_warned_of():
    strong = record_of(lambda y: torch.full((40,), 5.0), lambda y: y)
    assert weakness(labels.find(strong).attrs) is None
    likely = [[0.9, 0.1], [0.2, 0.8]]
    assert weakness(labels.find(probabilities=likely, label=[0, 1]).attrs) is None


def test_classes_that_were_not_learned_are_named():
    record, _ = made_up(rate=0.2, memorises=False, given_up=(2,))
    told = weakness(labels.find(record).attrs)
    assert told.startswith("This network never learned 1 of 5 classes (class 2): labels it suspects")
    most, _ = made_up(rate=0.2, memorises=False, given_up=(0, 1, 2))
    told = weakness(labels.find(most).attrs)
    assert told.startswith("This network never learned 3 of 5 classes (class 0, class 1, class 2) and fits")


def test_a_loss_is_not_recommended_to_who_used_it():
    weak = {"weak": True, "agreement": 0.4, "sureness": 0.25}
    for loss, recommended in (("ce", True), (None, True), ("gce(q=0.7)", False), ("unit_max(gce)", False)):
        told = weakness(weak, loss)
        assert ("such as gce" in told) == recommended
        assert "train longer" in told
