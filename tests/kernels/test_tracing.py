"""Losses inside other machinery of torch: forward-mode derivatives and tensors without values."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

from noiseproof import losses

SPECS = ["ce", "gce", "gr(normalize='none')", "nce", "mse", "gls", "nfl", "ce + nce", "cr(ce)", "peer(mae)"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_forward_mode_knows_the_gradient(spec, dtype):
    generator = torch.Generator().manual_seed(0)
    logits, tangent = torch.randn(2, 6, 5, dtype=dtype, generator=generator)
    target = torch.tensor([0, 1, -100, 3, 4, 0])
    loss = losses.get(spec).eval()
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(loss(forward_ad.make_dual(logits, tangent), target)).tangent
    leaf = logits.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(leaf, target), leaf)
    torch.testing.assert_close(found, (slope * tangent).sum(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("spec", SPECS)
def test_tensors_without_values(spec):
    loss = losses.get(spec)
    with FakeTensorMode(allow_non_fake_inputs=True):
        logits = torch.zeros(6, 5, requires_grad=True)
        value = loss(logits, torch.zeros(6, dtype=torch.int64))
        value.backward()
    assert value.shape == ()
    assert logits.grad.shape == (6, 5)
