"""Fast convolutions equal those of torch, are temporary, and replace supported layers only."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from noiseproof import models
from noiseproof.devices import convolution as quick
from noiseproof.devices.convolution import FastConvolution, fast_convolutions, missing_channels
from noiseproof.devices.network import _forward
from noiseproof.kernels import apply

CPU = torch.device("cpu")


@pytest.fixture
def padding_on_the_cpu(monkeypatch):
    """Pad channels on a CPU too; tests/kernels tests the kernels."""
    monkeypatch.setattr(apply, "INSTALLED", True)
    monkeypatch.setattr(apply, "interpreted", True)
    monkeypatch.setattr(quick, "should_use_kernel", lambda *arguments: False)


def low(module, *, seed=0):
    torch.manual_seed(seed)
    return module().to(dtype=torch.bfloat16, memory_format=torch.channels_last)


def images(channels, size=6):
    made = torch.randn(2, channels, size, size, generator=torch.Generator().manual_seed(1))
    return made.to(torch.bfloat16, memory_format=torch.channels_last)


LAYERS = {
    "both uneven": lambda: nn.Conv2d(70, 75, 3, padding=1),
    "inputs uneven": lambda: nn.Conv2d(70, 80, 3, padding=1, stride=2),
    "outputs uneven": lambda: nn.Conv2d(80, 70, 3, padding=1, bias=False),
    "even": lambda: nn.Conv2d(80, 64, 1),
    "few": lambda: nn.Conv2d(3, 10, 3, padding=1),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_padded_convolution_matches_torch(padding_on_the_cpu, make):
    layer = low(make)
    image = images(layer.in_channels).requires_grad_()
    inputs = (image, *layer.parameters())
    wanted = layer(image)
    slopes = torch.autograd.grad(wanted.float().square().sum(), inputs)
    with fast_convolutions(layer, CPU):
        assert type(layer) is FastConvolution
        found = layer(image)
    assert type(layer) is nn.Conv2d
    torch.testing.assert_close(found, wanted, rtol=0.02, atol=0.02)
    gradients = torch.autograd.grad(found.float().square().sum(), inputs)
    for gradient, there in zip(gradients, slopes, strict=True):
        scale = there.abs().max().item()
        torch.testing.assert_close(gradient, there, rtol=0.02, atol=0.02 * scale)


def test_channels_are_padded_with_zeros(padding_on_the_cpu, monkeypatch):
    seen = []
    monkeypatch.setattr(quick, "conv2d", lambda image, weight, *rest: seen.append(weight) or image[:, :80])
    with fast_convolutions(layer := low(lambda: nn.Conv2d(196, 70, 3)), CPU):
        assert layer(images(196)).shape[1] == 70
    assert seen[0].shape == (80, 208, 3, 3)
    assert not seen[0][70:].any()
    assert not seen[0][:, 196:].any()


def test_layers_are_restored_after_an_error():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    with pytest.raises(RuntimeError, match="stop"), fast_convolutions(model, CPU):
        raise RuntimeError("stop")
    assert type(model[0]) is nn.Conv2d


class Own(nn.Conv2d):
    """A subclass of the user."""


@pytest.mark.parametrize(
    "layer",
    [
        Own(4, 4, 3),
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 4, 3, dilation=2),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.ConvTranspose2d(4, 4, 3),
    ],
    ids=["derived", "groups", "dilation", "reflected", "transposed"],
)
def test_other_layers_are_unchanged(layer):
    kind = type(layer)
    with fast_convolutions(layer, CPU):
        assert type(layer) is kind


@pytest.mark.parametrize("name", ["cnn8", "resnet20", "resnet34"])
def test_parameters_and_names_are_unchanged(name):
    model = models.get(name, num_classes=10, seed=0)
    before = {key: id(value) for key, value in model.named_parameters()}
    with fast_convolutions(model, CPU):
        assert {key: id(value) for key, value in model.named_parameters()} == before
        assert list(model.state_dict()) == list(models.get(name, num_classes=10, seed=0).state_dict())


def test_cpu_uses_torch_convolutions(monkeypatch):
    layer, image = low(lambda: nn.Conv2d(70, 75, 3)), images(70)
    wanted = layer(image)
    monkeypatch.setattr(quick, "pad", None)
    with fast_convolutions(layer, CPU):
        assert torch.equal(layer(image), wanted)


def test_only_many_channels_are_padded():
    assert [missing_channels(count) for count in (1, 10, 64, 65, 128, 196, 200)] == [0, 0, 0, 15, 0, 12, 8]


def test_old_gpus_keep_torch_convolutions(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with fast_convolutions(layer := nn.Conv2d(3, 16, 3), torch.device("cuda")):
        assert type(layer) is nn.Conv2d


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["cnn8", "resnet20"])
def test_gradients_are_as_accurate_as_those_of_autocast(name):
    torch.manual_seed(0)
    model = models.get(name, num_classes=10, seed=0).cuda().to(memory_format=torch.channels_last)
    image = torch.randn(64, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    convolutions = [f"{at}.weight" for at, layer in model.named_modules() if type(layer) is nn.Conv2d]

    def gradients(network, forward, inputs):
        network.zero_grad()
        forward(inputs).float().logsumexp(1).sum().backward()
        return {key: network.get_parameter(key).grad.double() for key in convolutions}

    precise = copy.deepcopy(model).double()
    exact = gradients(precise, precise, image.double())
    found = []
    for forward in (model, partial(_forward, model, model)):
        with torch.autocast("cuda", torch.bfloat16):
            there = gradients(model, forward, image)
        found.append({key: float((there[key] - exact[key]).norm() / exact[key].norm()) for key in exact})
    plain, lean = found
    for key in exact:
        assert lean[key] < 1.5 * plain[key] + 0.02, key
