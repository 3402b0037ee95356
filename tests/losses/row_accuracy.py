"""Accuracy of gradients of torch expressions in single precision."""

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import apply


def share_of_inaccurate_rows(spec, classes, std, rows=4096):
    """Share of rows with an error above 1e-5, relative to the largest entry, without kernels and operator.

    In a few rows terms nearly cancel, so that no formula is accurate there.
    """
    generator = torch.Generator().manual_seed(0)
    logits = std * torch.randn(rows, classes, generator=generator)
    target = torch.randint(classes, (rows,), generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply, "enabled", False)
        single, double = (_gradient(spec, given, target) for given in (logits, logits.double()))
    return float(((single - double).abs().amax(1) > 1e-5 * double.abs().amax(1)).float().mean())


def _gradient(spec, logits, target):
    leaf = logits.clone().requires_grad_()
    losses.get(spec, reduction="sum")(leaf, target).backward()
    return leaf.grad.double()
