"""Early-learning regularisation: loss, memory and gradient against explicit formulas."""

import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot
from training_info import normal, training_info

from noiseproof.methods import ELR


def test_loss_and_memory_match_the_public_code():
    label, index = torch.tensor([0, 2]), torch.tensor([0, 1])
    method = ELR(beta=0.6, lam=2.5)
    method.prepare(training_info(label))
    memory = torch.zeros(2, 3, dtype=torch.float64)
    for epoch in range(1, 5):
        logits = 4 * normal(2, 3, seed=epoch)
        p = logits.softmax(1).clamp(1e-4, 1 - 1e-4)
        memory = 0.6 * memory + 0.4 * p / p.sum(1, keepdim=True)
        wanted = cross_entropy(logits, label) + 2.5 * (1 - (memory * p).sum(1)).log().mean()
        torch.testing.assert_close(
            method.step(logits, label, index, epoch).double(), wanted, rtol=1e-6, atol=0
        )
        torch.testing.assert_close(method.memory.values.double(), memory, rtol=1e-5, atol=1e-7)


def test_gradient_matches_the_paper():
    r"""(p - y) + lam / (1 - <t,p>) * p * (<t,p> - t): towards the classes with high targets."""
    label, index = torch.tensor([1, 0]), torch.tensor([0, 1])
    method = ELR(beta=0.5, lam=3.0)
    method.prepare(training_info(label, classes=3))
    logits = normal(2, 3).requires_grad_()
    (found,) = torch.autograd.grad(method.step(logits, label, index, epoch=1), logits)
    p, t = logits.detach().softmax(1), method.memory.values.double()
    agreement = (t * p).sum(1, keepdim=True)
    regularisation = 3.0 / (1 - agreement) * p * (agreement - t)
    torch.testing.assert_close(found, (p - one_hot(label, 3) + regularisation) / 2, rtol=1e-6, atol=1e-9)


def test_saturated_predictions_give_finite_loss():
    method = ELR(beta=0.0)
    method.prepare(training_info([0, 1]))
    logits = torch.tensor([[1e4, 0.0], [0.0, 1e4]])
    for epoch in range(5):
        loss = method.step(logits, torch.tensor([0, 1]), torch.arange(2), epoch)
    assert float(loss) == pytest.approx(3 * torch.tensor(2e-4).log().item(), rel=1e-3)


def test_lam_zero_is_cross_entropy():
    method = ELR(lam=0.0)
    method.prepare(training_info([0, 1]))
    logits, label = normal(2, 2), torch.tensor([0, 1])
    torch.testing.assert_close(method.step(logits, label, label, epoch=1), cross_entropy(logits, label))
