import pytest
import torch

from noiseproof.kernels import attach, class_margins
from noiseproof.kernels.expressions import margin


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
    y = attach(torch.tensor([7.0, 8.0], dtype=torch.float64), [x], [-(x**2)])
    assert y.tolist() == [7.0, 8.0]
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.testing.assert_close(first, -(x**2))
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, -2 * x.detach())


def test_attach_in_forward_mode():
    x = torch.tensor([0.5, -2.0], dtype=torch.float64)
    _, tangent = torch.func.jvp(lambda m: attach(m * 0, [m], [-(m**2)]), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, -(x**2))


def test_attach_to_two_columns():
    x, y = (torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True) for _ in range(2))
    found = attach(x.detach() * 0, [x, y], [x * y, y**2])
    by_x, by_y = torch.autograd.grad(found.sum(), [x, y], create_graph=True)
    torch.testing.assert_close((by_x, by_y), (x * y, y**2))
    (second,) = torch.autograd.grad(by_x.sum(), y)
    torch.testing.assert_close(second, x)
