"""Half precision and autocast: as accurate as with stored logits."""

import pytest
import torch
from torch.nn.functional import linear

from noiseproof import losses


def problem(rows=512, width=48, classes=400, spread=0.35):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(rows, width, generator=generator)
    weight = spread * torch.randn(classes, width, generator=generator)
    target = torch.where(
        torch.rand(rows, generator=generator) < 0.5,
        linear(hidden, weight).argmax(1),
        torch.randint(classes, (rows,), generator=generator),
    )
    return hidden, weight, torch.randn(classes, generator=generator), target


def gradients(call, tensors, scale=1.0):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    value = call(*inputs)
    return [value.detach(), *torch.autograd.grad(value * scale, inputs)]


def errors(found, exact, scale=1.0):
    """Relative to the norm, for the value and every gradient."""
    scales = [1.0, *[scale] * (len(found) - 1)]
    pairs = zip(found, exact, scales, strict=True)
    return [float((one.double() / s - other).norm() / other.norm()) for one, other, s in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize(
    "spec", ["ce", "mae", "gce", "nce", "gls", "10*nce + 0.1*agce(a=1.8, q=3)", "cr(ce)"]
)
@pytest.mark.parametrize("chunk", [128, 16], ids=["4 chunks", "32 chunks"])
def test_bfloat16_is_as_accurate_as_stored_logits(spec, reduction, chunk):
    *tensors, target = problem()
    loss = losses.get(spec, reduction=reduction)
    half = [t.bfloat16() for t in tensors]
    exact = gradients(lambda h, w, b: loss(linear(h, w, b), target), [t.double() for t in half])
    stored = errors(gradients(lambda h, w, b: loss(linear(h, w, b), target), half), exact)
    found = gradients(lambda h, w, b: loss.linear(h, w, target, bias=b, chunk=chunk), half)
    assert [t.dtype for t in found] == [torch.float32, *[torch.bfloat16] * 3]
    for fused, unfused in zip(errors(found, exact), stored, strict=True):
        assert fused <= 1.5 * unfused + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["ce", "nce"])
def test_float16_with_a_loss_scale_does_not_underflow(spec):
    *tensors, target = problem(rows=2048)
    loss, scale = losses.get(spec), 2.0**12
    half = [t.half() for t in tensors]
    exact = gradients(lambda h, w, b: loss(linear(h, w, b), target), [t.double() for t in half])
    stored = gradients(lambda h, w, b: loss(linear(h, w, b), target), half, scale)
    found = gradients(lambda h, w, b: loss.linear(h, w, target, bias=b, chunk=500), half, scale)
    for fused, unfused in zip(errors(found, exact, scale), errors(stored, exact, scale), strict=True):
        assert fused <= 1.5 * unfused + 1e-6


@pytest.mark.parametrize("spec", ["gce", "nce + mae"])
def test_float32_is_accurate(spec):
    *tensors, target = problem()
    loss = losses.get(spec)
    exact = gradients(lambda h, w, b: loss(linear(h, w, b), target), [t.double() for t in tensors])
    found = gradients(lambda h, w, b: loss.linear(h, w, target, bias=b, chunk=100), tensors)
    assert max(errors(found, exact)) < 2e-6


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_autocast_multiplies_in_half_precision_and_sums_in_float32(reduction):
    *tensors, target = problem()
    loss = losses.get("gce", reduction=reduction)

    def under_autocast(call):
        def run(*inputs):
            with torch.autocast("cpu", torch.bfloat16):
                return call(*inputs).float().mean()

        return run

    exact = gradients(lambda h, w, b: loss(linear(h, w, b), target).mean(), [t.double() for t in tensors])
    stored = gradients(under_autocast(lambda h, w, b: loss(linear(h, w, b), target)), tensors)
    found = gradients(under_autocast(lambda h, w, b: loss.linear(h, w, target, bias=b, chunk=32)), tensors)
    assert all(t.dtype == torch.float32 for t in found)
    assert errors(found, exact)[1] > 1e-4, "products must be computed in half precision"
    for fused, unfused in zip(errors(found, exact), errors(stored, exact), strict=True):
        assert fused <= 1.5 * unfused + 1e-6


def test_autocast_keeps_gradients_of_later_uses_of_the_weight():
    """A cast that is cached without a graph would have no gradient in the rest of the autocast block."""
    hidden, weight, _, target = problem(64)
    leaf = weight.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        first = losses.get("ce").linear(hidden, leaf, target)
        second = linear(hidden, leaf).float().sum()
    assert torch.autograd.grad(second, leaf)[0].any()
    assert torch.autograd.grad(first, leaf)[0].any()


def test_upstream_factor_is_not_rounded_to_half_precision():
    *tensors, target = problem()
    inputs = [t.bfloat16().requires_grad_() for t in tensors]
    value = losses.get("ce").linear(inputs[0], inputs[1], target, bias=inputs[2])
    once = torch.autograd.grad(value, inputs, retain_graph=True)
    factor = 1 + 2.0**-8 + 2.0**-9
    more = torch.autograd.grad(factor * value, inputs)
    for one, other in zip(once[:2], more[:2], strict=True):
        assert torch.equal(other, (one.float() * factor).bfloat16())


def test_float16_sums_of_many_rows_do_not_overflow():
    hidden = torch.full((600, 4), 300.0, dtype=torch.float16)
    weight = torch.zeros(3, 4, dtype=torch.float16, requires_grad=True)
    value = losses.get("ce").linear(hidden, weight, torch.zeros(600, dtype=torch.long))
    (gradient,) = torch.autograd.grad(value, weight)
    torch.testing.assert_close(gradient[:, 0].float(), torch.tensor([-200.0, 100.0, 100.0]))
