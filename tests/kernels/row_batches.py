"""Batches that are hard on a kernel, and how far a gradient is from the truth."""

import torch

TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-2}


def batch(rows, classes, dtype=torch.float32, spread=3.0):
    """Some classes masked, one row ignored whose logits are nan."""
    generator = torch.Generator().manual_seed(classes)
    logits = (spread * torch.randn(rows, classes, generator=generator)).to(dtype)
    target = torch.randint(classes - 1, (rows,), generator=generator)
    if classes > 2:
        logits[::2, classes - 1] = -torch.inf
    if classes > 4:
        target[target == 3] = 2
        logits[::3, 3] = -torch.inf
    logits[1] = torch.nan
    target[1] = -100
    return logits, target


def step(loss, logits, target, **options):
    leaf = logits.detach().clone().requires_grad_()
    value = loss(leaf, target, **options)
    (gradient,) = torch.autograd.grad(value.sum(), leaf)
    return value.detach().cpu().double(), gradient.cpu()


def row_error(found, wanted, floor=0.0):
    """Largest difference of every row over its largest entry, or over ``floor`` times that of all rows."""
    size = wanted.abs().amax(1)
    size = size.clamp_min(max(floor * float(size.max()), 1e-30))
    return float(((found.double() - wanted).abs().amax(1) / size).max())
