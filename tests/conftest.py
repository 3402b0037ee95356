"""Shared fixtures: a browser, and small runs."""

import pytest
import torch
from chromium import Chromium
from headless import find_browser

from noiseproof.data import LabelledData
from noiseproof.train import Config


@pytest.fixture(scope="session")
def browser(request, tmp_path_factory):
    found = Chromium(find_browser(request), tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


@pytest.fixture
def blobs():
    """60 points around 3 centres, easy to learn."""

    def make(count=60, wrong=0, seed=0, shape=(4,)):
        generator = torch.Generator().manual_seed(seed)
        clean = torch.arange(count) % 3
        centres = 3 * torch.eye(3, 4)
        inputs = centres[clean] + 0.3 * torch.randn(count, 4, generator=generator)
        label = clean.clone()
        label[:wrong] = (label[:wrong] + 1) % 3
        return LabelledData(inputs.reshape(count, *shape), label, clean_label=clean, name="blobs")

    return make


@pytest.fixture
def config(tmp_path):
    """The config of a short run."""

    def make(**changes):
        settings = {"model": "mlp(hidden=8)", "batch_size": 16, "epochs": 3, "lr": 0.1, "device": "cpu"}
        return Config(**(settings | {"out": str(tmp_path / "run")} | changes))

    return make
