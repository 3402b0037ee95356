import pytest
import torch

from noiseproof.kernels import attach, class_margins
from noiseproof.kernels.differentiable import margin


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_class_margins_are_the_margins_of_all_classes(spread):
    logits = spread * torch.randn(9, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = class_margins(logits)
    for k in range(6):
        torch.testing.assert_close(found[:, k], margin(logits, torch.full((9,), k)), rtol=1e-12, atol=1e-12)


def test_class_margins_can_be_differentiated_twice():
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(class_margins, logits)
    assert torch.autograd.gradgradcheck(class_margins, logits)


def test_attach_replaces_the_derivative():
    x = torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True)
    y = attach(x, torch.tensor([7.0, 8.0], dtype=torch.float64), x**2)
    assert y.tolist() == [7.0, 8.0]
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(first, -(x**2))
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, -2 * x.detach())


def test_attach_in_forward_mode():
    x = torch.tensor([0.5, -2.0], dtype=torch.float64)
    _, tangent = torch.func.jvp(lambda m: attach(m, m * 0, m**2), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, -(x**2))
