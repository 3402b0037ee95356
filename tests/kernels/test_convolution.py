"""Convolutions of few channels: sums and gradients of torch in float64, for the shapes they are for."""

from collections import Counter
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d
from torch.utils._python_dispatch import TorchDispatchMode

from noiseproof.devices import network as gpu_network
from noiseproof.devices.convolution import WIDTHS, narrow_convolution, should_use_kernel

triton = pytest.importorskip("triton", reason="kernels need Triton")
from noiseproof.devices import convolution_kernels as by_kernel  # noqa: E402
from noiseproof.devices.convolution_kernels import PIXELS_PER_STEP, pixels_of_part  # noqa: E402

EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""What a number of 16 bits may be off by, relative to itself."""
SHAPES = {
    "16 channels": (2, 16, 16, (8, 8), 1),
    "more pixels than a program has": (3, 16, 16, (9, 11), 1),
    "colours": (2, 3, 16, (8, 8), 1),
    "grey": (2, 1, 32, (7, 5), 1),
    "wider": (1, 32, 64, (6, 6), 1),
    "narrower": (1, 64, 16, (4, 4), 1),
    "halved": (2, 16, 32, (8, 8), 2),
    "halved, odd": (2, 16, 16, (7, 5), 2),
    "one pixel": (3, 16, 16, (1, 1), 1),
}


class Operators(TorchDispatchMode):
    """What is called inside."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.calls[function._schema.name] += 1
        return function(*arguments, **(keywords or {}))


@pytest.fixture
def dtype(device):
    """The interpreter multiplies the bits of a bfloat16 instead of the number."""
    return torch.bfloat16 if device == "cuda" else torch.float16


@pytest.fixture
def layer(device, dtype):
    def make(samples, inputs, outputs, size, seed=0):
        generator = torch.Generator().manual_seed(seed)
        image = torch.randn(samples, inputs, *size, generator=generator)
        weight = torch.randn(outputs, inputs, 3, 3, generator=generator)
        kind = {"device": device, "dtype": dtype, "memory_format": torch.channels_last}
        return tuple(tensor.to(**kind).requires_grad_() for tensor in (image, weight))

    return make


def assert_rounded(found, exact, scale):
    """Numbers are those of float64 up to the rounding of 16 bits, and of fp32 sums of size ``scale``."""
    bound = EPS[found.dtype] * exact.abs() + 1e-5 * scale
    assert ((found.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize(("samples", "inputs", "outputs", "size", "stride"), SHAPES.values(), ids=SHAPES)
def test_values_and_gradients_are_those_of_float64(layer, samples, inputs, outputs, size, stride):
    image, weight = layer(samples, inputs, outputs, size)
    assert should_use_kernel(image, weight, (stride, stride), (1, 1))
    found = narrow_convolution(image, weight, stride)
    precise = [tensor.detach().double().requires_grad_() for tensor in (image, weight)]
    exact = conv2d(*precise, stride=stride, padding=1)
    assert found.shape == exact.shape
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert_rounded(found, exact, scale=9 * inputs)
    upstream = torch.randn(exact.shape, generator=torch.Generator().manual_seed(1)).to(found)
    gradients = torch.autograd.grad(found, (image, weight), upstream)
    wanted = torch.autograd.grad(exact, precise, upstream.double())
    assert_rounded(gradients[1], wanted[1], scale=exact.numel())
    if stride == 1 and inputs in WIDTHS:
        assert_rounded(gradients[0], wanted[0], scale=9 * outputs)
    else:  # torch's own, which may add up in 16 bits
        bound = 8 * EPS[found.dtype] * wanted[0].abs().max().item()
        torch.testing.assert_close(gradients[0].double(), wanted[0], rtol=0, atol=bound)


def test_gradients_of_many_parts(layer, monkeypatch):
    """Each of several turns, and of as many pixels as go together on a GPU."""
    monkeypatch.setattr(by_kernel, "FEW_PIXELS", 1)
    image, weight = layer(9, 16, 16, (16, 16))
    assert pixels_of_part(9 * 256) > PIXELS_PER_STEP
    upstream = torch.randn(9, 16, 16, 16, generator=torch.Generator().manual_seed(2)).to(image)
    found = narrow_convolution(image, weight, 1)
    precise = [tensor.detach().double().requires_grad_() for tensor in (image, weight)]
    exact = conv2d(*precise, padding=1)
    assert_rounded(found, exact, scale=9 * 16)
    gradients = torch.autograd.grad(found, (image, weight), upstream)
    wanted = torch.autograd.grad(exact, precise, upstream.double())
    for gradient, there in zip(gradients, wanted, strict=True):
        assert_rounded(gradient, there, scale=9 * 256)


@pytest.mark.parametrize("asked", [0, 1])
def test_only_what_is_asked_for_is_computed(layer, asked):
    tensors = layer(2, 16, 16, (4, 4))
    tensors[1 - asked].requires_grad_(False)
    with Operators() as seen:
        narrow_convolution(*tensors, 1).sum().backward()
    gradients = [seen.calls[f"noiseproof::convolution_{by}"] for by in ("image_gradient", "weight_parts")]
    assert gradients == [1 - asked, asked]


def test_memory_in_another_order_is_put_in_order(layer):
    image, weight = layer(2, 16, 16, (4, 4))
    wanted = narrow_convolution(image, weight, 1)
    wide = torch.zeros(2, 20, 4, 4, device=image.device, dtype=image.dtype)
    wide = wide.contiguous(memory_format=torch.channels_last)
    wide[:, :16] = image.detach()
    assert torch.equal(narrow_convolution(wide[:, :16], weight.contiguous(), 1), wanted)


def test_a_gradient_in_another_order_is_put_in_order_once(layer):
    """As that of a max pool may come."""
    tensors = layer(2, 16, 16, (4, 4))
    upstream = torch.randn(2, 16, 4, 4).to(tensors[0].device, tensors[0].dtype)
    wanted = torch.autograd.grad(
        narrow_convolution(*tensors, 1), tensors, upstream.contiguous(memory_format=torch.channels_last)
    )
    found = narrow_convolution(*tensors, 1)
    with Operators() as seen:
        gradients = torch.autograd.grad(found, tensors, upstream)
    assert seen.calls["aten::clone"] == 1
    assert all(torch.equal(one, other) for one, other in zip(gradients, wanted, strict=True))


def test_the_operator_keeps_the_rules_of_torch(layer):
    image, weight = layer(2, 16, 16, (4, 4))
    found = torch.library.opcheck(
        torch.ops.noiseproof.convolution.default,
        (image, weight, 1),
        rtol=1e-2,
        atol=1e-2,
    )
    assert set(found.values()) == {"SUCCESS"}


def test_compiled_into_one_graph(layer):
    image, weight = layer(2, 16, 16, (4, 4))
    compiled = torch.compile(narrow_convolution, fullgraph=True, backend="aot_eager")
    wanted = narrow_convolution(image, weight, 1)
    assert torch.equal(compiled(image, weight, 1), wanted)


def test_channels_that_do_not_fit_are_named(layer):
    image, weight = layer(2, 16, 16, (4, 4))
    with pytest.raises(ValueError, match="image has 32 channels, but weight expects 16"):
        narrow_convolution(torch.cat([image, image], 1), weight, 1)


def test_a_network_in_a_lean_step(device, dtype):
    """Colours, strides, a bias that is trained and one that is not: the numbers of autocast, by kernels."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2, bias=False),
        nn.ReLU(),
        nn.Conv2d(32, 16, 3, padding=1),
    ).to(device=device, memory_format=torch.channels_last)
    network[4].bias.requires_grad_(False)
    image = torch.randn(3, 3, 9, 8).to(device=device, memory_format=torch.channels_last)
    found = []
    for forward in (network, partial(gpu_network._forward, network, network)):
        network.zero_grad()
        with torch.autocast(device, dtype), Operators() as seen:
            outputs = forward(image)
        assert outputs.dtype is dtype
        assert seen.calls["noiseproof::convolution"] == (0 if forward is network else 3)
        outputs.float().square().sum().backward()
        found.append([outputs.float(), *(p.grad for p in network.parameters() if p.requires_grad)])
    for plain, lean in zip(*found, strict=True):
        torch.testing.assert_close(lean, plain, rtol=0.02, atol=8 * EPS[dtype] * plain.abs().max().item())
