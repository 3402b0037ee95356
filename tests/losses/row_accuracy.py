"""How far gradients of torch expressions in single precision are from those in double."""

import pytest
import torch

from noiseproof import losses
from noiseproof.kernels import apply


def share_of_bad_rows(spec, classes, std, rows=4096):
    """More than 1e-5 off, over the largest entry of the row; where neither kernels nor operator are used.

    Logits are ordinary. A few rows have terms that nearly cancel, and no formula keeps all digits there.
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
