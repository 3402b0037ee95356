"""A network that has learned nothing gives a warning with a remedy."""

import numpy as np
import pytest
import torch

from noiseproof.data import LabelledData
from noiseproof.train import Config, fit
from noiseproof.train.advice import not_learned


def blobs(classes, rows=400, seed=0, apart=3.0):
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=rows)
    centres = rng.normal(0, apart, (classes, 10))
    return LabelledData((centres[label] + rng.normal(0, 1, (rows, 10))).astype(np.float32), label)


def warning_of(tmp_path, data, **settings):
    settings = {"model": "mlp(hidden='')", "lr": 0.1, "epochs": 10} | settings
    with pytest.warns(UserWarning, match="the network has") as caught:
        fit(Config(**settings, out=str(tmp_path / "run")), data=data)
    (words,) = [str(one.message) for one in caught if "the network has" in str(one.message)]
    return words


def test_warning_for_a_loss_with_small_initial_emphasis(tmp_path):
    words = warning_of(tmp_path, blobs(100, 2000), loss="mae", lr=0.01)
    assert words.startswith("the network has learned almost nothing: it agrees with ")
    assert "with 100 classes this loss starts with 2.4% of its full emphasis" in words
    assert "try scale(mae, tau=2.6)" in words


def test_warning_for_too_few_steps(tmp_path):
    words = warning_of(tmp_path, blobs(10, 500), loss="ce", lr=1e-5, epochs=3)
    assert "12 steps are few, train for more epochs" in words


def test_warning_for_uninformative_inputs(tmp_path):
    label = np.repeat([0, 1, 2], [240, 30, 30])
    data = LabelledData(torch.zeros(300, 2), label, class_names=["ant", "bee", "cat"], duplicates="ignore")
    words = warning_of(tmp_path, data, epochs=40, batch_size=10)
    assert (
        "it agrees with 80.0% of the training labels, always predicting 'ant' would agree with 80.0%" in words
    )
    assert "try another lr than 0.1" in words


@pytest.mark.filterwarnings("error:the network has")
@pytest.mark.parametrize(
    "loss",
    ["ce", *(pytest.param(loss, marks=pytest.mark.slow) for loss in ("unit_max(scale(mae))", "gce(q=0.7)"))],
)
@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.slow), 10])
def test_no_warning_for_a_network_that_learns_under_noise(tmp_path, loss, classes):
    data = blobs(classes, 600)
    config = Config(
        loss=loss,
        model="mlp(hidden='')",
        noise="symmetric(0.4)",
        lr=0.1,
        epochs=60,
        out=str(tmp_path / "run"),
    )
    run = fit(config, data=data)
    truth = run.record.clean_label
    assert float((run.outputs["train_probability"].argmax(1) == truth).double().mean()) > 0.85


def test_warning_for_nearly_uniform_probabilities():
    label = torch.arange(100).repeat(5)
    data = LabelledData(torch.rand(500, 2), label, duplicates="ignore")
    logits = 0.1 * torch.nn.functional.one_hot(label).float()
    assert "learned almost nothing: it agrees with 100.0%" in not_learned(logits, data)
    assert not_learned(100 * logits, data) is None


def test_few_labels_that_are_all_predicted_are_not_called_unlearned():
    data = LabelledData(torch.rand(3, 2), [0, 0, 1])
    logits = 10 * torch.nn.functional.one_hot(data.label).float()
    assert not_learned(logits, data) is None
    assert "learned nothing: it agrees with 66.7%" in not_learned(logits[:1].expand(3, 2), data)


def test_default_epochs_give_enough_steps(tmp_path):
    config = Config(model="mlp(hidden='')", out=str(tmp_path / "run"), record=False, evaluate_every=1000)
    assert config.epochs == 100
    run = fit(config, data=blobs(3, 130))
    assert run.result["steps"] == run.result["epochs"] * 2 == 1000
    assert run.config.epochs == 500
    shorter, same = (run.config.differences(c.replace(data="memory")) for c in (Config(epochs=100), Config()))
    assert "epochs: 500 -> 100" in shorter
    assert not any("epochs" in one for one in same)
    assert config.replace(lr=0.1).is_default_length
    assert not config.replace(iterations=5).is_default_length
