"""Sums and gradients of slices of the classes on the kernels, brought together without other processes."""

from types import SimpleNamespace

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels.linear.shard_rows import Question, answer, become_gradient
from noiseproof.kernels.linear.shard_sums import sums_of_slice
from noiseproof.kernels.reference import Wanted

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")

ROWS, SIZES = 23, (9, 1, 4)
EVERY = slice(0, ROWS)


def batch():
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(ROWS, sum(SIZES), generator=generator)
    logits[:, [8, 11]] = -torch.inf
    target = torch.randint(8, (ROWS,), generator=generator)
    target[:6] = torch.tensor([9, 9, 10, 12, 13, 7])
    keep = torch.ones(ROWS, dtype=torch.bool)
    keep[[3, 20]] = False
    return logits, target, keep


def sharded(loss, slices, target, keep, share):
    """Values, and the gradient of all slices; every slice plays a process of its own."""
    function = loss.row_function(sum(SIZES), 1.0)
    starts = [sum(SIZES[:place]) for place in range(len(SIZES))]
    wanted = function.wanted or Wanted()
    everyone = [sums_of_slice(s, target - start, wanted) for s, start in zip(slices, starts, strict=True)]
    for logits, start in zip(slices, starts, strict=True):
        shards = SimpleNamespace(start=start, classes=sum(SIZES), gathered=lambda own: torch.stack(everyone))
        question = Question(shards, target, keep, function, lambda margin, first: None)
        found, slots = answer(question, everyone[0], EVERY)
        become_gradient(logits, question, EVERY, found, slots, share)
    return found.values, torch.cat(slices, 1)


@pytest.mark.parametrize("is_half", [False, True])
@pytest.mark.parametrize("spec", ["gce", "nce", "gls", "10*nce + 0.1*agce(a=1.8, q=3)", "mse"])
def test_same_as_whole_rows_in_float64(spec, is_half, device):
    loss = losses.get(spec, reduction="none")
    logits, target, keep = batch()
    dtype, tolerance = (torch.bfloat16, 1e-2) if is_half else (torch.float32, 1e-5)
    logits = logits.to(dtype)
    share = torch.linspace(-1, 2, ROWS)
    exact = logits.double().requires_grad_()
    wanted = loss(exact, torch.where(keep, target, -100))
    (slope,) = torch.autograd.grad(wanted, exact, share.double())
    slices = [one.contiguous().to(device) for one in logits.split(SIZES, 1)]
    values, gradient = sharded(loss, slices, target.to(device), keep.to(device), share.to(device))
    torch.testing.assert_close(values.cpu().double(), wanted.detach(), rtol=1e-5, atol=1e-6)
    error = (gradient.cpu().double() - slope).abs().max() / slope.abs().max()
    assert float(error) < tolerance


def test_a_label_that_is_no_class_is_not_taken_for_one(device):
    """Values are not looked at on a GPU."""
    logits, target, keep = batch()
    target[0] = sum(SIZES)
    slices = [one.contiguous().to(device) for one in logits.split(SIZES, 1)]
    share = torch.ones(ROWS, device=device)
    values, _ = sharded(losses.get("ce"), slices, target.to(device), keep.to(device), share)
    assert values[0].isnan()
    assert values[1:].isfinite().all()
