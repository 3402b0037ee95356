"""The library under another default device, as set by ``torch.set_default_device``: here "meta"."""

import numpy as np
import pytest
import torch

from noiseproof import data, labels, losses, report
from noiseproof.losses import curve
from noiseproof.memory import on_the_cpu
from noiseproof.train import Config, fit

INNER = {"scale": "mae", "shift": "mae", "unit_max": "gce", "cr": "ce", "peer": "ce", "binary": "ce"}


@pytest.fixture
def meta_device():
    with torch.device("meta"):
        yield


def test_on_the_cpu_restores_the_default_device(meta_device):
    with on_the_cpu():
        assert torch.zeros(1).device.type == "cpu"
    assert torch.zeros(1).device.type == "meta"


@pytest.mark.parametrize("name", losses.LOSSES)
def test_losses_with_another_default_device(name, meta_device):
    loss = losses.get(f"{name}({INNER[name]})" if name in INNER else name).to_empty(device="cpu").eval()
    logits = torch.zeros(4, 3, device="cpu", requires_grad=True)
    target = (
        torch.ones(4, 3, device="cpu") if name == "binary" else torch.zeros(4, dtype=torch.long, device="cpu")
    )
    loss(logits, target).backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("spec", ["gce", "gr", "imae(T=8)"])
def test_curves_with_another_default_device(spec, meta_device):
    found = curve(spec)
    assert found.peak > 0
    assert 0 <= found.focus <= 1
    assert found.spread > 0
    assert found.initial(10) > 0


def test_data_with_another_default_device(meta_device):
    assert data.load("digits").label.device.type == "cpu"
    assert data.LabelledData(np.eye(2), [0, 1]).index.tolist() == [0, 1]


@pytest.mark.slow
def test_training_with_another_default_device(meta_device, tmp_path):
    config = Config(noise="symmetric(0.2)", loss="gr", epochs=2, out=str(tmp_path / "run"), device="cpu")
    run = fit(config)
    assert run.finished
    assert run.predict("digits").sum().item() == pytest.approx(
        len(data.load("digits", split="test")), rel=1e-4
    )
    assert len(labels.find(run)) == 1400
    assert report.write(run).is_file()
