"""Arguments common to all networks."""

import pytest

from noiseproof import models
from noiseproof.models.task import TASK


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"num_classes": 0}, ValueError, "num_classes=0 must be at least 1"),
        ({"num_classes": 2.5}, TypeError, "num_classes must be a whole number, got 2.5"),
        ({"num_classes": True}, ValueError, "num_classes=True"),
        ({"in_channels": -1}, ValueError, "in_channels=-1"),
        ({"image_size": 0}, ValueError, "image_size=0"),
        ({"image_size": (3, 3, 3)}, ValueError, r"image_size=\(3, 3, 3\)"),
        ({"dropout": 1.0}, ValueError, "dropout=1.0 .* 0 <= dropout < 1"),
        ({"dropout": float("nan")}, ValueError, "dropout=nan"),
        ({"dropout": "0.2"}, TypeError, "dropout must be a number, got '0.2'"),
    ],
)
def test_invalid_values_are_refused(bad, error, message):
    with pytest.raises(error, match=message):
        models.get("cnn4", **{"num_classes": 10, **bad})


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        ('"256,x"', "'x' is not a valid width"),
        ('"256,,2"', "'' is not a valid width"),
        ('"-3"', "'-3'"),
        ('"0"', "hidden=0"),
        ("-1", "-1"),
    ],
)
def test_invalid_widths_are_refused(hidden, message):
    with pytest.raises(ValueError, match=message):
        models.get(f"mlp(hidden={hidden})", num_classes=3)


def test_other_types_of_widths_are_refused():
    with pytest.raises(TypeError, match="got None"):
        models.get("mlp(hidden=None)", num_classes=3)


def test_task_keywords():
    assert TASK == ("num_classes", "in_channels", "image_size", "dropout")
