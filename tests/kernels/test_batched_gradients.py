"""Gradients of many upstreams at once, on every way a loss may go: is_grads_batched, vectorized Jacobians."""

import warnings

import pytest
import torch
from torch.autograd.functional import jacobian

from noiseproof import losses

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
SPECS = [
    *(
        "ce",
        "gce",
        "gr(normalize='none')",
        'gr(normalize="batch")',
        "nce",
        "mse",
        "gls",
        "nfl",
        "cr(ce)",
        "cr(mae)",
        "cr(focal)",
    ),
    *("peer(ce)", "peer(mse)", "10*nce + 0.1*agce(a=1.8, q=3)", "10*nce + nfl", "scale(mae)"),
]


SLOW = pytest.mark.slow


@pytest.fixture(params=["torch", pytest.param("operator", marks=SLOW), pytest.param("kernels", marks=SLOW)])
def where(request):
    """Torch expressions, the CPU operator, or Triton's kernels."""
    if request.param == "kernels":
        return request.getfixturevalue("device")
    if request.param == "operator":
        request.getfixturevalue("operator")
    return "cpu"


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # torch says so where it falls back to a loop of its own
        yield


def batch(device):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(5, 4, generator=generator)
    return logits.to(device).requires_grad_(), torch.tensor([0, 3, 1, -100, 2], device=device)


@pytest.mark.parametrize("spec", SPECS)
def test_one_gradient_for_every_row(spec, where):
    logits, target = batch(where)
    loss = losses.get(spec, reduction="none")
    every = torch.eye(5, device=where)
    values = loss(logits, target)
    (found,) = torch.autograd.grad(values, logits, every, is_grads_batched=True, retain_graph=True)
    for one, gradient in zip(every, found, strict=True):
        (wanted,) = torch.autograd.grad(values, logits, one, retain_graph=True)
        torch.testing.assert_close(gradient, wanted, rtol=1e-5, atol=1e-6)
    assert not found[3].any()


@pytest.mark.parametrize("spec", ["gce", "nce", "mse", "nfl", "cr(ce)", "peer(ce)"])
def test_gradients_that_are_differentiated_again(spec, where):
    logits, target = batch(where)
    values = losses.get(spec, reduction="none")(logits, target)
    every = torch.eye(5, device=where)
    how = {"create_graph": True, "retain_graph": True}
    (found,) = torch.autograd.grad(values, logits, every, is_grads_batched=True, **how)
    wanted = torch.stack([torch.autograd.grad(values, logits, one, **how)[0] for one in every])
    second = [
        torch.autograd.grad(one.square().sum(), logits, retain_graph=True)[0] for one in (found, wanted)
    ]
    torch.testing.assert_close(*second, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", ["gce", "nce", "nfl", "cr(ce)"])
def test_upstreams_of_a_mean(spec, where):
    logits, target = batch(where)
    loss = losses.get(spec)
    upstreams = torch.tensor([1.0, -2.0, 0.5], device=where)
    (found,) = torch.autograd.grad(loss(logits, target), logits, upstreams, is_grads_batched=True)
    (wanted,) = torch.autograd.grad(loss(logits, target), logits)
    torch.testing.assert_close(found, upstreams.reshape(3, 1, 1) * wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", ["gce", "mse", "nfl", "cr(ce)"])
def test_a_vectorized_jacobian(spec, where):
    logits, target = batch(where)
    loss = losses.get(spec, reduction="none")
    found, wanted = (
        jacobian(lambda z: loss(z, target), logits.detach(), vectorize=quick) for quick in (True, False)
    )
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_margins_and_statistics(where):
    logits, target = batch(where)
    for function in (losses.margin, lambda z, y: losses.row_statistics(z, y).sum_p2):
        found, wanted = (
            jacobian(lambda z, f=function: f(z, target), logits.detach(), vectorize=quick)
            for quick in (True, False)
        )
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
