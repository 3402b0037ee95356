"""Weak findings say so in words."""

import math

import pytest
import torch

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
