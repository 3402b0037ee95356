"""Bootstrapping: targets mixed from label and prediction, and their gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, one_hot
from training_info import normal

from noiseproof.methods import BootstrapHard, BootstrapSoft


@settings(deadline=None, max_examples=25)
@given(beta=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_loss_is_cross_entropy_with_mixed_target(beta, seed):
    logits, label = 3 * normal(5, 4, seed=seed), torch.arange(5) % 4
    p, hard = logits.softmax(1), one_hot(logits.argmax(1), 4).double()
    given_label = one_hot(label, 4).double()
    for method, prediction in ((BootstrapSoft(beta=beta), p), (BootstrapHard(beta=beta), hard)):
        wanted = cross_entropy(logits, beta * given_label + (1 - beta) * prediction)
        torch.testing.assert_close(method.step(logits, label, label, epoch=1), wanted)


def test_soft_gradient_includes_the_entropy_of_the_prediction():
    logits = normal(3, 4).requires_grad_()
    label = torch.tensor([0, 1, 2])
    (found,) = torch.autograd.grad(BootstrapSoft(beta=0.0).step(logits, label, label, epoch=1), logits)
    p = logits.detach().softmax(1)
    negative_log_p = -p.log()
    entropy = (p * negative_log_p).sum(1, keepdim=True)
    torch.testing.assert_close(found, p * (negative_log_p - entropy) / 3)


def test_hard_predictions_have_no_gradient():
    logits = normal(3, 4).requires_grad_()
    label = torch.tensor([0, 1, 2])
    (found,) = torch.autograd.grad(BootstrapHard(beta=0.25).step(logits, label, label, epoch=1), logits)
    decided = one_hot(logits.argmax(1), 4)
    wanted = logits.detach().softmax(1) - 0.25 * one_hot(label, 4) - 0.75 * decided
    torch.testing.assert_close(found, wanted / 3)


@pytest.mark.parametrize("kind", [BootstrapSoft, BootstrapHard])
def test_beta_one_is_cross_entropy(kind):
    logits, label = normal(4, 3), torch.tensor([0, 1, 2, 0])
    torch.testing.assert_close(kind(beta=1.0).step(logits, label, label, 1), cross_entropy(logits, label))
