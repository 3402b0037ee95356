"""What losses on the compiled CPU operator are held to."""

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
    return "LossFunction" in loss(logits.clone().requires_grad_(), target).grad_fn.name()
