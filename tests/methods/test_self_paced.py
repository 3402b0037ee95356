"""Self-paced learning and the predefined curriculum of MentorNet: weights of the samples."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from training_info import normal, training_info

from noiseproof.methods import MentorNetPD, SelfPaced
from noiseproof.methods.self_paced import quantile


@pytest.mark.parametrize("count", [1, 2, 7, 128])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.75, 1.0])
def test_quantile_matches_numpy(count, share):
    values = normal(count, seed=count)
    assert float(quantile(values, share)) == pytest.approx(np.quantile(values.numpy(), share), abs=1e-12)


def losses_of(logits, label):
    return cross_entropy(logits, label, reduction="none")


def test_self_paced_uses_samples_below_running_quantile():
    method = SelfPaced(begin=0.4, end=0.6, growth=0.1, warmup=1, decay=0.25)
    label, index = torch.arange(20) % 3, torch.arange(20)
    threshold = None
    for epoch, share in ((1, 0.4), (2, 0.4), (3, 0.5), (4, 0.6), (9, 0.6)):
        logits = normal(20, 3, seed=epoch, dtype=torch.float32).requires_grad_()
        rows = losses_of(logits.detach(), label)
        now = float(np.quantile(rows.numpy(), share))
        threshold = now if threshold is None else 0.25 * threshold + 0.75 * now
        loss = method.step(logits, label, index, epoch)
        used = (rows <= threshold) | (epoch == 1)
        torch.testing.assert_close(loss, (rows * used).mean(), rtol=1e-6, atol=0)
        (found,) = torch.autograd.grad(loss, logits)
        assert torch.equal(found.abs().sum(1) > 0, used), epoch
        assert float(method.threshold) == pytest.approx(threshold, rel=1e-6)


def test_excluded_sample_is_used_again_when_its_loss_is_low():
    method = SelfPaced(begin=0.5, warmup=0, growth=0.0, decay=0.0)
    label = torch.tensor([0, 0])
    hard = torch.tensor([[0.0, 3.0], [3.0, 0.0]], requires_grad=True)
    (found,) = torch.autograd.grad(method.step(hard, label, label, 1), hard)
    assert found.abs().sum(1).gt(0).tolist() == [False, True]
    (found,) = torch.autograd.grad(method.step(hard.flip(0), label, label, 2), hard)
    assert found.abs().sum(1).gt(0).tolist() == [False, True]
    learned = torch.tensor([[3.0, 0.0], [0.0, 3.0]], requires_grad=True)
    (found,) = torch.autograd.grad(method.step(learned, label, label, 3), learned)
    assert found.abs().sum(1).gt(0).tolist() == [True, False]


@pytest.mark.parametrize("lambda2", [0.5, 2.0])
def test_mentornet_weights_minimise_its_objective(lambda2):
    """Objective: v l + lambda2 v^2 / 2 - (lambda1 + lambda2) v, on a fine grid of v in [0, 1]."""
    method = MentorNetPD(percentile=0.5, lambda2=lambda2, burn_in=0.2, linear=0.6, decay=0.0)
    label, index = torch.arange(9) % 3, torch.arange(9)
    method.prepare(training_info(label, epochs=10))
    grid = torch.linspace(0, 1, 100_001, dtype=torch.float64)
    for epoch, curvature in ((1, None), (2, None), (3, 0.0), (6, 0.0), (7, lambda2), (10, lambda2)):
        logits = (3 * normal(9, 3, seed=epoch, dtype=torch.float32)).requires_grad_()
        rows = losses_of(logits.detach(), label)
        if curvature is None:
            wanted = torch.ones_like(rows)
        else:
            middle = rows.median()
            cost = rows[:, None] * grid + curvature / 2 * grid**2 - (middle + curvature) * grid
            wanted = grid[cost.argmin(1)]
            wanted[rows.argsort()[4]] = 1  # on the threshold all v have the same cost
        loss = method.step(logits, label, index, epoch)
        torch.testing.assert_close(loss, (wanted * rows).mean().float(), rtol=1e-4, atol=0)
        (found,) = torch.autograd.grad(loss, logits)
        assert torch.equal(found.abs().sum(1) > 1e-9, wanted > 1e-9), epoch


def test_mentornet_step_before_prepare_raises_runtime_error():
    label = torch.tensor([0])
    with pytest.raises(RuntimeError, match="mentornet_pd is not prepared"):
        MentorNetPD().step(torch.zeros(1, 2), label, label, 1)
