"""What losses on the compiled CPU operator are held to."""

import pytest
import torch
from row_batches import row_error, step


def compare(loss, logits, target, tolerance, floor=0.0, **options):
    wanted, slope = step(loss, logits.double(), target, **options)
    found, gradient = step(loss, logits, target, **options)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    assert gradient.dtype == logits.dtype
    assert row_error(gradient, slope, floor) < tolerance
    assert not gradient[logits == -torch.inf].any(), "a masked class has a gradient"
    assert not gradient[target == -100].any(), "an ignored row has one"


def went_through(loss, logits, target):
    """Whether the operator has the whole loss, but for a mean that is taken after it."""
    node = loss(logits.clone().requires_grad_(), target).grad_fn
    while node.name() in ("DivBackward0", "SumBackward0"):
        node = node.next_functions[0][0]
    return "LossFunction" in node.name()


def compare_curvature(loss, logits, target):
    """Gradients of the gradient, against those of the torch expressions in float64."""

    def curvature(logits):
        leaf = logits.clone().requires_grad_()
        (slope,) = torch.autograd.grad(loss(leaf, target), leaf, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), leaf)[0]

    logits = logits.clamp_min(-20).nan_to_num(0.0)
    torch.testing.assert_close(curvature(logits), curvature(logits.double()).float(), rtol=1e-3, atol=1e-6)


def names_mistakes(loss, logits, target):
    with pytest.raises(ValueError, match=r"target\[2\] = 7 is not a valid class index"):
        loss(logits, target.index_fill(0, torch.tensor(2), 7))
    with pytest.raises(ValueError, match=r"logits\[3, 0\] = nan|logits of row 3 are not finite"):
        loss(logits.index_put((torch.tensor(3), torch.tensor(0)), torch.tensor(torch.nan)), target)
