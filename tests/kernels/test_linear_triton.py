"""loss.linear and linear_margin on the kernels: gradients in place of the logits, slabs, upstream factors."""

import copy

import pytest
import torch
from torch.nn.functional import linear

from noiseproof import losses

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

IN_PLACE = ["gce", "mae", "nce", "gls", "scale(mae)", "10*nce + 0.1*agce(a=1.8, q=3)", "cr(ce)"]
COPIED = ["nfl", "cr(mae)", "cr(nce) + gls"]


def batch(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    sizes = ((23, 6), (9, 6), (9,))
    tensors = [torch.randn(size, generator=generator).to(dtype) for size in sizes]
    target = torch.randint(8, (23,), generator=generator)
    tensors[2][8] = -torch.inf
    target[3] = -100
    return *tensors, target


def step(call, tensors, upstream):
    inputs = [t.detach().requires_grad_() for t in tensors]
    value = call(*inputs)
    gradients = torch.autograd.grad(value, inputs, upstream.to(value), retain_graph=True)
    again = torch.autograd.grad(value, inputs, 2 * upstream.to(value))
    return [value.detach(), *gradients, *again]


def compare(fused, stored, device, dtype, tolerance):
    *tensors, target = batch(dtype)
    exact = [t.double() for t in tensors]
    shape = stored(*exact, target).shape
    upstream = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = step(lambda *t: stored(*t, target), exact, upstream)
    labels = target.to(device)
    found = step(lambda *t: fused(*t, labels), [t.to(device) for t in tensors], upstream.to(device))
    for one, other in zip(found, wanted, strict=True):
        error = (one.cpu().double() - other).abs().max() / other.abs().max().clamp_min(0.1)
        assert float(error) < tolerance


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("spec", [*IN_PLACE, *COPIED, 'gr(normalize="batch")', "peer(gls)"])
def test_losses(spec, reduction, device):
    loss = losses.get(spec, reduction=reduction).eval()
    moved = copy.deepcopy(loss).to(device)
    compare(
        lambda h, w, b, y: moved.linear(h, w, y, bias=b, chunk=8),
        lambda h, w, b, y: loss(linear(h, w, b), y),
        device,
        torch.float32,
        1e-5,
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("chunk", [3, 8, 23])
def test_margins(chunk, dtype, tolerance, device):
    compare(
        lambda h, w, b, y: losses.linear_margin(h, w, y, bias=b, chunk=chunk),
        lambda h, w, b, y: losses.margin(linear(h, w, b), y),
        device,
        dtype,
        tolerance,
    )


@pytest.mark.parametrize("spec", IN_PLACE + COPIED)
def test_the_gradient_takes_the_place_of_the_logits_where_nothing_else_needs_them(spec, device, monkeypatch):
    from noiseproof.kernels.triton import fused

    formed, real = [], fused.Plan.second

    def watched(plan, logits, *arguments, **options):
        real(plan, logits, *arguments, **options)
        out = options["out"] if options else arguments[-1]
        formed.append(out.data_ptr() == logits.data_ptr())

    monkeypatch.setattr(fused.Plan, "second", watched)
    hidden, weight, _, target = (t.to(device) for t in batch())
    losses.get(spec).to(device).linear(hidden.requires_grad_(), weight, target, chunk=8)
    assert formed == ([True] * 3 if spec in IN_PLACE else [False] * len(formed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_scaling_rounds_once(dtype, device):
    from noiseproof.kernels.triton.launch import scale

    generator = torch.Generator().manual_seed(0)
    before = torch.randn(3, 5000, generator=generator).to(device, dtype)
    for number in (1.0, 1 + 2.0**-9, 0.0, -3.7, float("nan")):
        found = before.clone()
        scale(found, torch.tensor(number, device=device))
        wanted = (before.float() * number).to(dtype)
        truncates = device == "cpu" and dtype == torch.bfloat16  # the interpreter, unlike the GPU
        torch.testing.assert_close(found, wanted, rtol=2.0**-7 if truncates else 0, atol=0, equal_nan=True)
