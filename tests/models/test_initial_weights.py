"""Initial weights: their distribution, and that they depend on the seed only."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from noiseproof import models


def convolutions(model):
    return [module for module in model.modules() if isinstance(module, nn.Conv2d)]


@pytest.mark.slow
@pytest.mark.parametrize("spec", list(models.MODELS))
def test_same_seed_is_bit_identical_and_keeps_global_state(spec):
    states = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        before = torch.get_rng_state()
        states.append(models.get(spec, num_classes=10, seed=5).state_dict())
        assert torch.equal(torch.get_rng_state(), before)
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_other_seed_gives_other_weights(first, second):
    heads = [models.get("mlp(hidden=3)", num_classes=2, seed=seed).head.weight for seed in (first, second)]
    assert torch.equal(*heads) == (first == second)


def test_accelerators_are_not_seeded(monkeypatch):
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    models.get("mlp", num_classes=2, seed=0)
    assert seeded == []


def test_dropout_does_not_change_initial_weights():
    plain, dropped = (
        models.get("resnet20", num_classes=10, dropout=d, seed=0).state_dict() for d in (0, 0.2)
    )
    assert all(torch.equal(plain[name], dropped[name]) for name in plain)


def test_without_a_seed_torch_generator_is_used():
    torch.manual_seed(3)
    first = models.get("mlp", num_classes=2).head.weight
    assert not torch.equal(first, models.get("mlp", num_classes=2).head.weight)
    torch.manual_seed(3)
    assert torch.equal(first, models.get("mlp", num_classes=2).head.weight)


@pytest.mark.parametrize(
    ("seed", "error"), [(1.5, TypeError), ("0", TypeError), (-1, ValueError), (2**63, ValueError)]
)
def test_invalid_seeds_are_refused(seed, error):
    with pytest.raises(error, match="seed"):
        models.get("mlp", num_classes=2, seed=seed)


@pytest.mark.parametrize(
    "spec",
    [
        "resnet56",
        "vgg19_bn",
        *(pytest.param(spec, marks=pytest.mark.slow) for spec in ("resnet18", "resnet50")),
    ],
)
def test_he_normal_fan_out(spec):
    for layer in convolutions(models.get(spec, num_classes=10, seed=0))[1:]:
        expected = math.sqrt(2 / (layer.out_channels * math.prod(layer.kernel_size)))
        scores = (layer.weight / expected).flatten()
        assert abs(scores.std() - 1) < 5 / math.sqrt(2 * scores.numel())
        assert scores.abs().max() > 2.5  # a uniform distribution of this variance ends at 1.73
        assert layer.bias is None or not layer.bias.any()


@pytest.mark.parametrize("spec", ["cnn4", "cnn8"])
def test_small_cnns_he_uniform_and_xavier_uniform(spec):
    model = models.get(spec, num_classes=10, seed=0)
    laws = [(m.weight, math.sqrt(6 / (m.in_channels * 9))) for m in convolutions(model)]
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    laws += [(m.weight, math.sqrt(6 / (m.in_features + m.out_features))) for m in linear]
    for weight, bound in laws:
        assert 0.97 * bound < weight.abs().max() <= bound


@pytest.mark.parametrize("name", ["mlp", "cnn4", "resnet20", "resnet34", "googlenet"])
def test_option_head_scales_the_initial_weights_of_the_last_layer(name):
    task = {"num_classes": 7, "image_size": 28 if name in ("mlp", "cnn4") else 32, "seed": 3}
    plain, scaled = models.get(name, **task), models.get(f"{name}(head=0.5)", **task)
    for key, weight in plain.state_dict().items():
        factor = 0.5 if key.startswith("head.") else 1
        assert torch.equal(scaled.state_dict()[key], factor * weight), key
    assert not models.get(f"{name}(head=0)", **task).head.weight.any()


@pytest.mark.parametrize("head", ["-1", "'a'", "True", "1e999"])
def test_invalid_factor_of_the_head(head):
    with pytest.raises(
        ValueError, match=r"head=.* is out of range, it must be a number and satisfy head >= 0"
    ):
        models.get(f"cnn4(head={head})", num_classes=3)


def test_head_of_a_network_that_is_not_of_this_library():
    models.register("own", lambda num_classes: torch.nn.Linear(2, num_classes))
    try:
        with pytest.raises(ValueError, match="head=2: Linear is not a network of this library"):
            models.get("own(head=2)", num_classes=3)
    finally:
        del models.MODELS["own"]
