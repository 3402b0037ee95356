"""SOP against the formulas of its public code, with one-hot labels and an optimiser of torch."""

import pytest
import torch
from torch.nn.functional import mse_loss, normalize, one_hot
from training_info import normal, training_info

from noiseproof.methods import SOP


def reference(u, v, logits, label):
    """The two terms; the first has no gradient for v, the second none for u."""
    y = one_hot(label, logits.shape[1]).to(logits.dtype)
    of_u = (u**2 * y).clamp(0, 1 - 1e-4)
    of_v = (v**2 * (1 - y)).clamp(0, 1 - 1e-4)
    q = normalize((logits.softmax(1) + of_u - of_v.detach()).clamp(min=1e-4), p=1)
    decided = one_hot(logits.argmax(1), logits.shape[1]).to(logits.dtype)
    square = mse_loss(decided + of_u.detach() - of_v, y, reduction="sum") / len(label)
    return -(y * q.log()).sum(1).mean() + square


def test_loss_and_parameters_of_samples_match_the_public_code():
    label, index = torch.tensor([0, 2, 1, 1]), torch.tensor([5, 3, 8, 1])
    method = SOP(lr_u=2.0, lr_v=30.0, scale=0.1)
    method.prepare(training_info(label, index=index))
    own = method.memory.values.double()
    u, v = own[:, :1].clone().requires_grad_(), own[:, 1:].clone().requires_grad_()
    optimizer = torch.optim.SGD([{"params": [u], "lr": 2.0}, {"params": [v], "lr": 30.0}], lr=1.0)
    for epoch in range(1, 13):
        rows = torch.tensor([0, 1, 2, 3] if epoch % 3 else [2, 0])
        logits = 2 * normal(4, 3, seed=epoch)[rows]
        ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
        loss = method.step(ours, label[rows], index[rows], epoch)
        wanted = reference(u[rows], v[rows], theirs, label[rows])
        optimizer.zero_grad()
        wanted.backward()
        optimizer.step()
        torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(torch.autograd.grad(loss, ours)[0], theirs.grad, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(
            method.memory.values.double(), torch.cat([u, v], 1).detach(), rtol=1e-4, atol=1e-6
        )


def test_only_parameters_of_contradicted_labels_grow():
    """Two samples with label 0; the network predicts class 0 for the first and class 1 for the second."""
    label, index = torch.tensor([0, 0]), torch.arange(2)
    method = SOP(lr_u=1.0, lr_v=1.0)
    method.prepare(training_info(label, classes=3))
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
    first = method.step(logits, label, index, 1)
    for epoch in range(2, 60):
        last = method.step(logits, label, index, epoch)
    v = method.memory.values[:, 1:].square()
    assert v[1, 1] > 0.9, "the class predicted instead of the label"
    assert float(v.sum() - v[1, 1]) < 1e-6
    assert last < first - 2


def test_initial_parameters_are_small_and_normally_distributed():
    method = SOP()
    method.prepare(training_info(torch.arange(4000) % 5))
    values = method.memory.values.double() / 1e-8
    assert float(values.mean()) == pytest.approx(0, abs=0.03)
    assert float(values.std()) == pytest.approx(1, abs=0.03)
    assert float((values.abs() > 1.96).double().mean()) == pytest.approx(0.05, abs=0.01)
    assert len(values.unique()) > 20_000
