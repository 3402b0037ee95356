"""Label smoothing with symmetric cross entropy against sums of other losses."""

import math

import pytest
import torch
from training_info import normal

from noiseproof import losses
from noiseproof.methods import GLSSL


def gradient(function, logits):
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf)[0]


@pytest.mark.parametrize(("smoothing", "A"), [(0.1, -4.0), (0.5, -4.0), (0.1, -1.0)])
def test_gradient_is_that_of_gls_plus_rce_with_clipped_contrast(smoothing, A):
    logits, label = 2 * normal(8, 5), torch.arange(8) % 5
    top, rest = 1 - smoothing + smoothing / 5, smoothing / 5
    contrast = max(math.log(rest), A) - max(math.log(top), A)
    summed = losses.get(f"0.3*gls(alpha={smoothing}) + 2.0*rce(A={contrast})")
    method = GLSSL(smoothing=smoothing, alpha=0.3, beta=2.0, A=A)
    found = gradient(lambda z: method.step(z, label, label, 1), logits)
    torch.testing.assert_close(found, gradient(lambda z: summed(z, label), logits))


def test_smoothing_zero_is_sl():
    logits, label = 2 * normal(8, 5), torch.arange(8) % 5
    method = GLSSL(smoothing=0.0, alpha=0.3, beta=2.0, A=-6.0)
    wanted = losses.get("sl(alpha=0.3, beta=2.0, A=-6.0)")(logits, label)
    torch.testing.assert_close(method.step(logits, label, label, 1), wanted)
