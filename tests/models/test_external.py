"""timm and torchvision names, with stand-ins for the packages."""

import sys
import types

import pytest
import torch
from torch import nn

from noiseproof import models


@pytest.fixture
def fake_timm(monkeypatch):
    package = types.ModuleType("timm")
    package.calls = []
    package.list_models = lambda: ["vit_tiny", "resnet18"]

    def create_model(name, **arguments):
        package.calls.append((name, arguments))
        return nn.Linear(4, arguments["num_classes"])

    package.create_model = create_model
    monkeypatch.setitem(sys.modules, "timm", package)
    return package


@pytest.fixture
def fake_torchvision(monkeypatch):
    package, inner = types.ModuleType("torchvision"), types.ModuleType("torchvision.models")
    inner.list_models = lambda: ["resnet18", "vgg11"]

    def get_model(name, *, num_classes, progress=True):
        return nn.Linear(4, num_classes)

    inner.get_model = get_model
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", inner)


@pytest.mark.parametrize("package", ["timm", "torchvision"])
def test_missing_package_error_has_instructions(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf"'{package}:resnet18' needs {package}, which is not installed.*\[vision\]"
    ):
        models.get(f"{package}:resnet18", num_classes=10)


def test_failing_import_is_reported_with_its_reason(monkeypatch, tmp_path):
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    with pytest.raises(
        ImportError, match=r"fails to import \(RuntimeError: operator torchvision::nms.*matches your torch"
    ):
        models.get("timm:resnet18", num_classes=10)


def test_timm_receives_the_task(fake_timm):
    models.get("timm:vit_tiny.augreg_in21k(img_size=32)", num_classes=5, in_channels=1, dropout=0.1)
    told = {"num_classes": 5, "in_chans": 1, "drop_rate": 0.1, "img_size": 32}
    assert fake_timm.calls == [("vit_tiny.augreg_in21k", told)]


def test_seed_determines_external_networks(fake_timm):
    first, second = (models.get("timm:resnet18", num_classes=5, seed=3).weight for _ in range(2))
    assert torch.equal(first, second)


def test_unknown_external_name_suggests_the_nearest(fake_timm, fake_torchvision):
    with pytest.raises(ValueError, match="timm has no model 'resnet19', did you mean resnet18"):
        models.get("timm:resnet19", num_classes=5)
    with pytest.raises(ValueError, match="torchvision has no model 'vgg12', did you mean vgg11"):
        models.get("torchvision:vgg12", num_classes=5)


def test_torchvision(fake_torchvision):
    assert models.get("torchvision:resnet18(progress=False)", num_classes=5).out_features == 5
    with pytest.raises(ValueError, match="reads 3 channels, got in_channels=1"):
        models.get("torchvision:resnet18", num_classes=5, in_channels=1)
    with pytest.raises(ValueError, match=r"does not take .*dropout"):
        models.get("torchvision:resnet18", num_classes=5, dropout=0.2)


def test_other_prefixes_are_refused():
    with pytest.raises(ValueError, match="unknown model 'keras:resnet18'"):
        models.get("keras:resnet18", num_classes=5)
