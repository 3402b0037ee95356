"""Joint optimisation: two regularisers, and targets that are means over the last epochs."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from training_info import normal, training_info

from noiseproof.methods import Joint


def prepared(label, classes=3, **options):
    method = Joint(**options)
    method.prepare(training_info(label, classes=classes))
    return method


def test_loss_before_start_is_cross_entropy_plus_two_regularisers():
    label, index = torch.tensor([0, 2, 0]), torch.arange(3)
    logits = normal(3, 3)
    p = logits.softmax(1)
    mean, third = p.mean(0), torch.full((3,), 1 / 3, dtype=torch.float64)
    frequency = torch.tensor([2 / 3, 0.0, 1 / 3], dtype=torch.float64)
    entropy = -(p * p.log()).sum(1).mean()
    for prior, share in (("uniform", third), ("given", frequency)):
        method = prepared(label, alpha=1.5, beta=0.25, start=5, prior=prior)
        distance = (torch.xlogy(share, share) - share * mean.log()).sum()
        wanted = cross_entropy(logits, label) + 1.5 * distance + 0.25 * entropy
        torch.testing.assert_close(method.step(logits, label, index, 5), wanted, rtol=1e-6, atol=0)


def test_distance_to_prior_is_zero_at_the_prior_and_finite_at_collapse():
    logits = torch.tensor([[5.0, 0.0], [0.0, 5.0]])
    found = prepared([0, 1], 2, alpha=1.0, beta=0.0)._distance_to_prior(logits.log_softmax(1))
    assert float(found) == pytest.approx(0.0, abs=1e-6)
    collapsed = torch.tensor([[500.0, 0.0], [500.0, 0.0]]).log_softmax(1)
    assert float(prepared([0, 1], 2)._distance_to_prior(collapsed)) > 200, "the penalty is large"


def test_targets_are_means_over_the_last_epochs():
    label, index = torch.tensor([0, 1]), torch.arange(2)
    method = prepared(label, alpha=0.0, beta=0.0, start=3, average=3)
    logits_of = {epoch: normal(2, 3, seed=epoch) for epoch in range(1, 8)}
    for epoch, logits in logits_of.items():
        loss = method.step(logits, label, index, epoch)
        target = label
        if epoch > 3:
            target = torch.stack([logits_of[e].softmax(1) for e in range(epoch - 3, epoch)]).mean(0)
        torch.testing.assert_close(loss, cross_entropy(logits, target), rtol=2e-3, atol=0)
    last = torch.stack([logits_of[e].softmax(1) for e in (5, 6, 7)]).mean(0)
    assert method.corrected_labels().tolist() == last.argmax(1).tolist()


def test_targets_are_means_of_fewer_epochs_at_first():
    label = torch.tensor([0])
    method = prepared(label, 2, alpha=0.0, beta=0.0, start=1, average=10)
    logits = torch.tensor([[0.0, 2.0]], dtype=torch.float64)
    method.step(logits, label, label, 1)
    found = method.step(logits, label, label, 2)
    torch.testing.assert_close(found, cross_entropy(logits, logits.softmax(1)), rtol=2e-3, atol=0)


def test_sample_without_predictions_keeps_its_label():
    method = prepared([0, 1], 2, start=1, average=2)
    zero = torch.tensor([0])
    method.step(torch.tensor([[0.0, 9.0]]), zero, zero, 1)
    assert method.corrected_labels().tolist() == [1, 1]
    found = method.step(torch.zeros(1, 2), torch.tensor([1]), torch.tensor([1]), 2)
    assert found.isfinite()
    assert method.corrected_labels().tolist() == [1, 0], "equal probabilities select the first class"


def test_hard_targets_are_argmax():
    label = torch.tensor([0])
    method = prepared(label, 2, alpha=0.0, beta=0.0, start=1, average=1, hard=True)
    logits = torch.tensor([[0.0, 0.5]], dtype=torch.float64)
    method.step(logits, label, label, 1)
    found = method.step(logits, label, label, 2)
    torch.testing.assert_close(found, cross_entropy(logits, torch.tensor([1])), rtol=1e-6, atol=0)
