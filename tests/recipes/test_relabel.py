"""Relabel and retrain."""

import json

import pytest
import torch

from noiseproof.recipes import relabel_and_retrain
from noiseproof.train import Config, Interrupted, RunExistsError, Watcher


@pytest.fixture
def config(tmp_path):
    return Config(
        noise="symmetric(0.4)", loss="unit_max(mae)", model="mlp(hidden=64)", epochs=15, lr=0.1, device="cpu",
        out=str(tmp_path / "both"),
    )  # fmt: skip


def test_second_run_trains_on_predictions_of_the_first(config):
    found = relabel_and_retrain(config)
    predicted = found.first.outputs["train_probability"].argmax(1)
    assert torch.equal(found.second.record.label, predicted)
    assert torch.equal(found.second.record.clean_label, found.first.record.clean_label)
    assert found.changed == int((predicted != found.first.record.label).sum())
    assert found.wrong_before == int(found.first.record.flipped.sum())
    assert found.wrong_after == int(found.second.record.flipped.sum()) < found.wrong_before / 2
    expected = found.second.result["final_test_accuracy"] - found.first.result["final_test_accuracy"]
    assert found.gain == pytest.approx(expected)
    first, second = (run.config.to_dict() for run in (found.first, found.second))
    assert {name for name in first if first[name] != second[name]} == {"noise", "out"}


def test_validation_labels_are_not_changed(config):
    found = relabel_and_retrain(config.replace(validation=0.25, epochs=3))
    assert torch.equal(found.first.record.index, found.second.record.index)
    data = [run.manifest["data"]["validation"] for run in (found.first, found.second)]
    assert data[0]["sha256"] == data[1]["sha256"]


def test_interrupted_recipe_is_resumed_and_finished_recipe_is_read(config):
    class StopInSecond(Watcher):
        starts = 0

        def begin(self, done, steps):
            self.starts += 1

        def step(self, done):
            if self.starts == 2 and done == 5:
                raise KeyboardInterrupt

    short = config.replace(epochs=2)
    with pytest.raises((KeyboardInterrupt, Interrupted)):
        relabel_and_retrain(short, watcher=StopInSecond())
    watcher = StopInSecond()
    found = relabel_and_retrain(short, watcher=watcher)
    assert watcher.starts == 1
    again = relabel_and_retrain(short)
    assert json.dumps(again.second.metrics) == json.dumps(found.second.metrics)
    with pytest.raises(RunExistsError, match=r"lr: 0\.1 -> 0\.2"):
        relabel_and_retrain(short.replace(lr=0.2))
