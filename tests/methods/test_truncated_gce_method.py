"""Truncated GCE with pruning: which samples are pruned and restored, and when."""

import pytest
import torch
from training_info import normal, training_info

from noiseproof import losses
from noiseproof.methods import Outputs, PrunedGCE


def gradient(loss, logits):
    return torch.autograd.grad(loss, logits)[0]


def prepared(label, **options):
    method = PrunedGCE(**options)
    method.prepare(training_info(label, classes=3))
    return method


def test_loss_before_start_is_gce_minus_a_constant():
    label = torch.tensor([0, 1, 2, 0])
    method = prepared(label, q=0.6, k=0.4, start=10)
    logits = normal(4, 3).requires_grad_()
    gce = losses.get("gce(q=0.6)")
    found = method.step(logits, label, torch.arange(4), 9)
    torch.testing.assert_close(found, gce(logits, label) - (1 - 0.4**0.6) / 0.6)
    torch.testing.assert_close(gradient(found, logits), gradient(gce(logits, label), logits))


def test_pruning_at_every_step_has_gradient_of_truncated_gce():
    label = torch.arange(30) % 3
    method = prepared(label, start=1, period=1)
    logits = (3 * normal(30, 3)).requires_grad_()
    found = method.step(logits, label, torch.arange(30), 1)
    plain = losses.get("truncated_gce")(logits, label)
    torch.testing.assert_close(gradient(found, logits), gradient(plain, logits))
    kept = logits.softmax(1).gather(1, label.unsqueeze(1)).squeeze(1) > 0.5
    assert torch.equal(method.memory.values.bool(), kept)
    assert kept.any()
    assert not kept.all()


def test_samples_are_pruned_and_restored_by_epoch():
    label = torch.tensor([0])
    method = prepared(label, start=4, period=2)
    lost, fitted = torch.tensor([[0.0, 5.0, 0.0]]), torch.tensor([[5.0, 0.0, 0.0]])
    shown = {1: lost, 2: lost, 3: lost, 4: lost, 5: fitted, 6: fitted, 7: lost}
    weights = []
    for epoch, logits in shown.items():
        method.step(logits, label, label, epoch)
        weights.append(method.memory.values.item())
    assert weights == [1, 1, 1, 0, 0, 1, 1]


def test_pruned_sample_has_neither_loss_nor_gradient():
    label = torch.tensor([0, 1])
    method = prepared(label, start=1, period=1)
    logits = torch.tensor([[0.0, 5.0, 0.0], [0.0, 5.0, 0.0]], requires_grad=True)
    loss = method.step(logits, label, torch.arange(2), 1)
    found = gradient(loss, logits)
    assert not found[0].any()
    assert found[1].any()
    kept = (0.5**0.7 - logits[1].softmax(0)[1] ** 0.7) / 0.7
    torch.testing.assert_close(loss, kept / 2, msg="the mean is over the whole batch")


class StubEvaluation:
    """An evaluation with given logits, and whether the epoch is the best."""

    def __init__(self, is_best, logits=None):
        self.is_best, self.logits = is_best, logits

    def outputs(self, positions=None, *, features=False):
        assert self.logits is not None, "outputs are needed only in the best epoch"
        return (Outputs(self.logits),)


def test_by_validation_prunes_with_the_best_network():
    label = torch.tensor([0, 0])
    method = PrunedGCE(start=3, period=2, by="validation")
    method.prepare(training_info(label, classes=2)._replace(validation=5))
    one, other = torch.tensor([[5.0, 0.0], [0.0, 5.0]]), torch.tensor([[0.0, 5.0], [5.0, 0.0]])
    weights = []
    evaluations = [
        StubEvaluation(True, one),
        StubEvaluation(False),
        StubEvaluation(False),
        StubEvaluation(True, other),
        StubEvaluation(False),
        StubEvaluation(False),
    ]
    for epoch, evaluation in enumerate(evaluations, 1):
        method.step(one, label, torch.arange(2), epoch)
        method.between_epochs(evaluation, epoch)
        weights.append(method.memory.values.tolist())
    first, second = [1.0, 0.0], [0.0, 1.0]
    assert weights == [[1, 1], [1, 1], first, first, second, second]


def test_by_validation_needs_validation_data():
    with pytest.raises(ValueError, match=r"by='validation' needs validation data: give validation=0\.1"):
        PrunedGCE(by="validation").prepare(training_info([0, 1]))
