"""Properties of every network: features, head, dropout, formats, precisions."""

import copy
import functools
import pickle

import pytest
import torch
from torch import nn

from noiseproof import models

SPECS = [
    *models.MODELS,
    'resnet20(shortcut="projection")',
    'resnet18(stem="imagenet")',
    'vgg19_bn(hidden="64,32")',
]
SIZES = {"cnn4": 28, "inception_resnet_v2": 75, "vgg19_bn": 32, 'vgg19_bn(hidden="64,32")': 32}


def network(spec, **more):
    return models.get(spec, num_classes=7, in_channels=3, image_size=SIZES.get(spec, 16), seed=0, **more)


def images(spec, number=2):
    size = SIZES.get(spec, 16)
    return torch.randn(number, 3, size, size, generator=torch.Generator().manual_seed(1))


DEEPER = {"resnet32", "resnet44", "resnet56", "resnet34"}


@pytest.mark.parametrize(
    "spec", [pytest.param(spec, marks=[pytest.mark.slow] if spec in DEEPER else []) for spec in SPECS]
)
def test_logits_are_the_head_of_the_features(spec):
    model, x = network(spec).eval(), images(spec)
    with torch.no_grad():
        logits, features = model(x), model.features(x)
        assert isinstance(model.head, nn.Linear)
        assert features.shape == (2, model.head.in_features)
        assert logits.shape == (2, 7)
        assert torch.equal(logits, model.head(features))
        pair = models.forward_with_features(model, x)
        alone = model(x[:1])
    assert torch.equal(pair[0], logits)
    assert torch.equal(pair[1], features)
    torch.testing.assert_close(alone, logits[:1], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_every_parameter_has_a_gradient(spec):
    model = network(spec).train()
    model(images(spec, 4)).square().sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
    assert idle == []
    assert model.head.weight.grad.abs().sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_channels_last_gives_equal_logits(spec):
    model, x = network(spec).eval(), images(spec)
    with torch.no_grad():
        expected = model(x)
        found = model.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_bfloat16_autocast_is_close(spec):
    model, x = network(spec).eval(), images(spec)
    with torch.no_grad():
        expected = model(x)
        with torch.autocast("cpu", torch.bfloat16):
            found = model(x)
    assert found.dtype == torch.bfloat16
    assert (found.float() - expected).norm() < 0.1 * expected.norm()


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_compiles_to_one_graph(spec):
    torch._dynamo.reset()
    model, x = network(spec).eval(), images(spec)
    both = functools.partial(models.forward_with_features, model)
    with torch.no_grad():
        compiled = torch.compile(both, fullgraph=True, backend="aot_eager")(x)
        for found, expected in zip(compiled, both(x), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_dropout_only_in_training():
    model = network("resnet20", dropout=0.5)
    plain = network("resnet20").train()
    x = images("resnet20", 64)
    with torch.no_grad():
        dropped = model.train().features(x)
        zeros = (dropped == 0).float().mean() - (plain.features(x) == 0).float().mean()
        assert 0.4 < zeros < 0.6
        pair = models.forward_with_features(model, x)
        assert torch.equal(pair[0], model.head(pair[1]))
        assert torch.equal(model.eval()(x), model.head(model.features(x)))


def test_copies_and_pickles():
    model, x = network("cnn8").eval(), images("cnn8")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin(x), model(x))
