"""Self-ensemble label correction: moving averages of the targets."""

import torch
from torch.nn.functional import cross_entropy, one_hot
from training_info import normal, training_info

from noiseproof.methods import SELC


def test_cross_entropy_up_to_start_then_moving_average_targets():
    label, index = torch.tensor([0, 2]), torch.tensor([0, 1])
    method = SELC(alpha=0.8, start=2)
    method.prepare(training_info(label))
    target = one_hot(label, 3).double()
    for epoch in range(1, 6):
        logits = normal(2, 3, seed=epoch)
        if epoch > 2:
            target = 0.8 * target + 0.2 * logits.softmax(1)
        wanted = cross_entropy(logits, target)
        torch.testing.assert_close(
            method.step(logits, label, index, epoch).double(), wanted, rtol=1e-6, atol=0
        )
        torch.testing.assert_close(method.memory.values.double(), target, rtol=1e-6, atol=1e-7)


def test_targets_have_no_gradient():
    method = SELC(alpha=0.5, start=0)
    method.prepare(training_info([0], classes=3))
    logits = normal(1, 3).requires_grad_()
    zero = torch.tensor([0])
    (found,) = torch.autograd.grad(method.step(logits, zero, zero, epoch=1), logits)
    wanted = logits.detach().softmax(1) - method.memory.values
    torch.testing.assert_close(found, wanted.double(), rtol=1e-5, atol=1e-7)


def test_label_is_corrected_when_its_weight_falls_below_half():
    method = SELC(alpha=0.9, start=0)
    method.prepare(training_info([0, 1]))
    logits = torch.tensor([[0.0, 9.0], [0.0, 9.0]])
    corrected = []
    for epoch in range(1, 11):
        method.step(logits, torch.tensor([0, 1]), torch.arange(2), epoch)
        corrected.append(method.corrected_labels().tolist())
    assert corrected[0] == [0, 1]
    assert corrected[5] == [0, 1], "the weight of the label is 0.9^6 = 0.53"
    assert corrected[6] == [1, 1], "the weight of the label is 0.9^7 = 0.48"
