"""Names, specs, registered factories, modules."""

import pytest
import torch
from torch import nn

from noiseproof import models


@pytest.fixture
def own_name():
    yield "mine"
    models.MODELS.pop("mine", None)


class Mine(nn.Module):
    def __init__(self, num_classes, width=4, in_channels=3):
        super().__init__()
        self.width, self.in_channels = width, in_channels
        self.head = nn.Linear(width, num_classes)


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"unknown model 'resnet35', did you mean 'resnet\d\d'") as caught:
        models.get("resnet35", num_classes=10)
    assert all(name in str(caught.value) for name in models.MODELS)


def test_unknown_option_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown option of resnet34 'stemm', did you mean 'stem'"):
        models.get("resnet34(stemm='cifar')", num_classes=10)
    with pytest.raises(ValueError, match=r"unknown option of cnn8 'stem' \(known: none\)"):
        models.get("cnn8(stem='cifar')", num_classes=10)


@pytest.mark.parametrize("spec", ["resnet34(stem='tall')", "resnet44(shortcut='none')"])
def test_unknown_choice_lists_the_known_ones(spec):
    with pytest.raises(ValueError, match="is unknown, choose one of"):
        models.get(spec, num_classes=10)


@pytest.mark.parametrize(
    "option", ["num_classes=3", "in_channels=1", "image_size=8", "seed=1", "weights='a'"]
)
def test_arguments_of_get_in_a_spec_are_refused(option):
    with pytest.raises(ValueError, match=f"{option.partition('=')[0]} in .* must be passed to models.get"):
        models.get(f"resnet20({option})", num_classes=10)


def test_dropout_in_the_spec():
    assert models.get("resnet20(dropout=0.2)", num_classes=10).dropout.p == 0.2
    assert models.get("resnet20(dropout=0.2)", num_classes=10, dropout=0.2).dropout.p == 0.2
    with pytest.raises(ValueError, match="contradicts"):
        models.get("resnet20(dropout=0.2)", num_classes=10, dropout=0.3)


def test_registered_factory_receives_its_parameters(own_name):
    models.register(own_name, Mine)
    model = models.get("mine(width=6)", num_classes=3, in_channels=1, image_size=8, seed=0)
    assert (model.width, model.in_channels, model.head.out_features) == (6, 1, 3)
    with pytest.raises(ValueError, match="has no parameter dropout"):
        models.get("mine", num_classes=3, dropout=0.1)


def test_registered_factory_needs_num_classes(own_name):
    models.register(own_name, lambda width=3: nn.Linear(width, 2))
    with pytest.raises(TypeError, match="'mine' must have a parameter num_classes"):
        models.get("mine", num_classes=3)


@pytest.mark.parametrize(
    ("name", "factory", "error"),
    [
        ("resnet18", Mine, ValueError),
        ("a-b", Mine, ValueError),
        ("class", Mine, ValueError),
        ("mine", 3, TypeError),
    ],
)
def test_invalid_registrations_are_refused(name, factory, error):
    with pytest.raises(error, match=name):
        models.register(name, factory)


def test_module_is_returned_unchanged():
    model = nn.Linear(3, 2)
    assert models.get(model, num_classes=2, seed=4) is model
    with pytest.raises(ValueError, match="existing Linear"):
        models.get(model, num_classes=2, dropout=0.1)
    with pytest.raises(ValueError, match="has 10 classes, the task has 2"):
        models.get(models.get("resnet20", num_classes=10), num_classes=2)
    with pytest.raises(TypeError, match="got int"):
        models.get(3, num_classes=2)


def test_meta_device_is_kept():
    with torch.device("meta"):
        model = models.get("resnet20", num_classes=10, seed=0)
    assert all(p.is_meta for p in model.parameters())
