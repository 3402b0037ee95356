"""The network and the predictions of a finished run."""

import pytest
import torch
from stopping import StopAt
from torch import nn

from noiseproof.data import LabelledData
from noiseproof.train import Interrupted, Run, fit


def test_loaded_model_equals_the_trained_model(config, blobs):
    run = fit(config(dropout=0.3), data=blobs(), test=blobs(seed=1))
    model = Run(run.folder).load_model()
    assert not model.training
    probability = run.predict(blobs(seed=1))
    torch.testing.assert_close(model(blobs(seed=1).inputs).softmax(1), probability)
    torch.testing.assert_close(probability, run.outputs["test_probability"].float(), rtol=0, atol=1e-3)
    accuracy = (probability.argmax(1) == blobs(seed=1).label).float().mean().item()
    assert accuracy == pytest.approx(run.result["final_test_accuracy"])


def test_outputs_are_computed_in_evaluation_mode(config, blobs):
    run = fit(config(model="mlp(hidden=8, norm=True)", dropout=0.5), data=blobs(wrong=6), test=blobs(seed=1))
    probability = run.predict(blobs(wrong=6))
    torch.testing.assert_close(run.outputs["train_probability"].float(), probability, rtol=0, atol=1e-3)
    fitted = (probability.argmax(1) == blobs(wrong=6).label).float().mean().item()
    assert run.result["train"]["corrupted"] == pytest.approx(fitted)
    assert run.outputs["test_features"].shape == (60, 8)


def test_grey_and_uint8_images(config, blobs):
    images = LabelledData((blobs().inputs.reshape(60, 2, 2) * 50).clamp(0, 255).byte(), blobs().label)
    run = fit(config(epochs=30), data=images)
    assert run.config.model == "mlp(hidden=8)"
    assert run.load_model().body[1].in_features == 4
    assert (run.predict(images).argmax(1) == images.label).float().mean() > 0.9


def test_user_network_must_be_passed_to_load_model(config, blobs):
    run = fit(config(), data=blobs(), model=nn.Sequential(nn.Linear(4, 3)))
    with pytest.raises(RuntimeError, match="Missing key"):
        run.load_model()
    model = run.load_model(model=nn.Sequential(nn.Linear(4, 3)))
    torch.testing.assert_close(run.predict(blobs(), model=model), model(blobs().inputs).softmax(1))


def test_missing_files_and_wrong_shapes_raise_an_error(config, blobs):
    with pytest.raises(Interrupted):
        fit(config(), data=blobs(), watcher=StopAt(2))
    run = Run(config().out)
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors: it is unfinished"):
        run.load_model()
    run = fit(config(), data=blobs())
    with pytest.raises(FileNotFoundError, match="it had no validation data"):
        run.load_model("best")
    with pytest.raises(ValueError, match="choose 'final' or 'best'"):
        run.load_model("last")
    with pytest.raises(ValueError, match=r"samples have shape \(5,\), the run was trained on \(4,\)"):
        run.predict(LabelledData(torch.zeros(2, 5), [0, 1]))
