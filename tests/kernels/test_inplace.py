"""Overwriting the logits: the same gradient, no second N x C tensor, and never silently wrong."""

import pytest
import torch

from noiseproof import kernels, losses
from noiseproof.kernels.inplace import shares_memory

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")


def model(device):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(6, 4, generator=generator).to(device).requires_grad_()
    weight = torch.randn(4, 5, generator=generator).to(device)
    target = torch.tensor([0, 1, -100, 3, 4, 0], device=device)
    return hidden, weight, target


@pytest.mark.parametrize("spec", ["gce", "nce", "gr(normalize='none')"])
def test_same_gradient_in_the_memory_of_the_logits(spec, device):
    hidden, weight, target = model(device)
    loss = losses.get(spec)
    (wanted,) = torch.autograd.grad(loss(hidden @ weight, target), hidden)
    logits = hidden @ weight
    before, version = logits.clone(), logits._version
    with kernels.inplace():
        value = loss(logits, target)
    (found,) = torch.autograd.grad(value, hidden)
    torch.testing.assert_close(found, wanted)
    assert logits._version > version
    assert not torch.equal(logits, before), "the gradient went elsewhere"


def test_a_view_of_the_model_output_may_be_overwritten(device):
    hidden, weight, target = model(device)
    with kernels.inplace():
        value = losses.get("ce")((hidden @ weight).view(2, 3, 5).reshape(6, 5), target)
    (found,) = torch.autograd.grad(value, hidden)
    (wanted,) = torch.autograd.grad(losses.get("ce")(hidden @ weight, target), hidden)
    torch.testing.assert_close(found, wanted)


def test_others_who_need_the_logits_notice(device):
    hidden, weight, target = model(device)
    logits = hidden @ weight
    early = (logits**2).sum()
    with kernels.inplace():
        value = losses.get("ce")(logits, target)
    torch.autograd.grad(value, hidden, retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(early, hidden)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(value, hidden)


def test_refused_where_it_would_corrupt(device):
    _, _, target = model(device)
    loss = losses.get("ce")
    with kernels.inplace(), pytest.raises(ValueError, match="leaf"):
        loss(torch.zeros(6, 5, device=device, requires_grad=True), target)
    weight = torch.nn.Parameter(torch.zeros(6, 5, device=device))
    with kernels.inplace(), pytest.raises(ValueError, match="a view of one"):
        loss(weight[:6], target)
    one = torch.zeros(1, 5, device=device, requires_grad=True) * 2
    with kernels.inplace(), pytest.raises(ValueError, match="share memory"):
        loss(one.expand(6, 5), target)


@pytest.mark.parametrize("spec", ["cr(ce) + mae", "peer(ce) + mae", "nfl + cr(gce)", "peer(nfl)", "cr(nce)"])
def test_logits_that_several_parts_look_at_are_left_alone(spec, device):
    hidden, weight, target = model(device)
    (wanted,) = torch.autograd.grad(losses.get(spec)(hidden @ weight, target), hidden)
    with kernels.inplace():
        value = losses.get(spec)(hidden @ weight, target)
    (found,) = torch.autograd.grad(value, hidden)
    torch.testing.assert_close(found, wanted)


def test_permission_ends_with_the_block(device):
    hidden, weight, target = model(device)
    with pytest.raises(KeyError), kernels.inplace():
        raise KeyError
    logits = hidden @ weight
    before = logits.clone()
    losses.get("ce")(logits, target).backward()
    assert torch.equal(logits, before)


@pytest.mark.parametrize(
    ("strides", "shared"),
    [((5, 1), False), ((1, 6), False), ((10, 2), False), ((0, 1), True), ((5, 0), True), ((3, 1), True)],
)
def test_memory_shared_between_elements(strides, shared):
    assert shares_memory(torch.zeros(100).as_strided((6, 5), strides)) is shared
