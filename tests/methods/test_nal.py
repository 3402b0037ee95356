"""Noise attention learning: gradient, optimal attention, loss, targets and head."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy, one_hot
from training_info import normal, training_info

from noiseproof.data import Batch
from noiseproof.methods import NAL, Outputs, get, nal
from noiseproof.methods.nal import log_mixture


def prepared(label, width=1, **options):
    method = NAL(**options)
    method.prepare(training_info(label, classes=3, features=width))
    return method


def with_attention(method, value):
    """Set the logit of the attention to ``value`` for features of 1."""
    with torch.no_grad():
        method.head.weight.fill_(value)
        method.head.bias.zero_()
    return method


def loss_of(method, logits, label, epoch=1, features=None):
    label = torch.as_tensor(label)
    features = torch.ones(len(label), 1) if features is None else features
    batch = Batch(torch.zeros(len(label), 1), label, torch.arange(len(label)))
    return method.loss((Outputs(logits, features),), batch, epoch)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.1, 20), attention=st.floats(-12, 12))
def test_gradient_is_phi_times_cross_entropy_gradient_and_phi_is_at_most_tau(seed, scale, attention):
    logits = (scale * normal(1, 5, seed=seed)).requires_grad_()
    label = torch.tensor([seed % 5])
    hidden = torch.tensor([attention], dtype=torch.float64)
    mixed = log_mixture(logits.log_softmax(1), hidden, one_hot(label, 5).double())
    (found,) = torch.autograd.grad(-mixed[0, label], logits)
    (plain,) = torch.autograd.grad(cross_entropy(logits, label), logits)
    tau, p = hidden.sigmoid(), logits.softmax(1)[0, label].detach()
    phi = p / (p - 1 + 1 / tau)
    torch.testing.assert_close(found, phi * plain, rtol=1e-7, atol=1e-12)
    assert 0 < phi <= tau < 1
    assert phi < tau or 1 - p < 1e-9, "equal only where p rounds to 1"


@pytest.mark.parametrize("lam", [0.05, 0.5, 10.0, 50.0])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.6, 0.9])
def test_optimal_attention_has_closed_form(lam, p):
    best = min(1.0, lam / ((1 + lam) * (1 - p)))
    log_p = torch.tensor([[p, 1 - p]], dtype=torch.float64).log()
    tau = torch.linspace(1e-4, 1 - 1e-4, 9999, dtype=torch.float64)
    mixed = log_mixture(log_p.expand(9999, 2), tau.logit(), torch.tensor([1.0, 0.0]).double().expand(9999, 2))
    found = tau[(-mixed[:, 0] - lam * tau.log()).argmin()]
    assert float(found) == pytest.approx(best, abs=2e-4)


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("rce", [0.0, 0.7])
def test_loss_matches_formula(renormalize, rce):
    label = torch.tensor([2, 0, 1])
    method = prepared(label, width=4, lam=0.3, rce=rce, A=-3.0, renormalize=renormalize)
    logits, features = normal(3, 3), normal(3, 4, seed=1, dtype=torch.float32)
    q = one_hot(label, 3).double().clamp(1e-4)
    q = q / q.sum(1, keepdim=True) if renormalize else q
    tau = torch.sigmoid(method.head(features).double())
    mixed = tau * (logits.softmax(1) - q) + q
    reverse = -(mixed * q.log().clamp_min(-3.0)).sum(1)
    wanted = (-(q * mixed.log()).sum(1) - 0.3 * tau.log().squeeze(1) + rce * reverse).mean()
    found = loss_of(method, logits, label, features=features)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=0)
    torch.testing.assert_close(method.observed()["tau"].double(), tau.squeeze(1), rtol=1e-5, atol=0)


def test_extreme_attention_logits_give_finite_loss_and_gradients():
    logits = normal(2, 3, dtype=torch.float32)
    label = torch.tensor([0, 2])
    trusting = with_attention(prepared(label, floor=0.0), 1e4)
    torch.testing.assert_close(loss_of(trusting, logits, label), cross_entropy(logits, label))
    distrusting = with_attention(prepared(label, floor=0.0), -1e4)
    assert float(loss_of(distrusting, logits, label).detach()) == pytest.approx(0.5 * 1e4)
    for method in (trusting, distrusting):
        leaf = (1e4 * logits).requires_grad_()
        loss = loss_of(method, leaf, label)
        loss.backward()
        gradients = (leaf.grad, method.head.weight.grad, method.head.bias.grad)
        assert loss.isfinite()
        assert all(gradient.isfinite().all() for gradient in gradients)


def test_attention_has_gradient_where_float32_sigmoid_saturates():
    method = with_attention(prepared([0]), -200.0)
    loss_of(method, torch.zeros(1, 3), [0]).backward()
    assert float(method.head.bias.grad) == pytest.approx(-0.5, rel=1e-5), "-lam (1 - tau) is lost"


def test_targets_change_from_start_every_period_epochs():
    method = prepared([0, 1], start=6, period=3)
    logits = normal(2, 3, dtype=torch.float32)
    changed = []
    for epoch in range(1, 13):
        before = method.memory.values.clone()
        loss_of(method, logits, [0, 1], epoch)
        if not torch.equal(before, method.memory.values):
            changed.append(epoch)
    assert changed == [6, 9, 12]


def test_targets_are_updated_before_the_loss():
    method = prepared([0], alpha=0.9, start=1, period=1)
    logits = torch.tensor([[0.0, 3.0, 0.0]])
    p = logits.softmax(1)
    q = torch.tensor([[1.0, 1e-4, 1e-4]])
    for _ in range(3):
        q = (0.9 * q + 0.1 * p).clamp(1e-4, 1)
        found = loss_of(method, logits, [0])
        torch.testing.assert_close(method.memory.values, q)
        tau = method.observed()["tau"]
        wanted = -(q * (tau * p + (1 - tau) * q).log()).sum() - 0.5 * tau.log()
        torch.testing.assert_close(found, wanted.squeeze())
    for _ in range(20):
        loss_of(method, logits, [0])
    assert method.corrected_labels().tolist() == [1]


def test_clamped_targets_sum_to_one_only_if_renormalised():
    logits = torch.tensor([[0.0, 30.0, 0.0]])
    for renormalize in (False, True):
        method = prepared([0], alpha=0.0, start=1, period=1, renormalize=renormalize)
        loss_of(method, logits, [0])
        excess = float(method.memory.values.sum()) - 1
        assert excess == pytest.approx(0.0 if renormalize else 2e-4, abs=1e-6)
        assert method.memory.values.min() > 0.99e-4


def test_samples_below_attention_threshold_keep_their_target():
    method = prepared([0, 0], start=1, period=1, threshold=0.5)
    with torch.no_grad():
        method.head.weight.fill_(1.0)
        method.head.bias.zero_()
    loss_of(method, normal(2, 3, dtype=torch.float32), [0, 0], features=torch.tensor([[-1.0], [1.0]]))
    assert method.memory.values[0].tolist() == pytest.approx([1.0, 1e-4, 1e-4])
    assert float(method.memory.values[1, 0]) < 0.99


def test_head_depends_only_on_the_seed():
    heads = []
    for seed in (0, 0, 1):
        method = NAL()
        torch.rand(3)
        state = torch.get_rng_state()
        method.prepare(training_info([0, 1], features=16, seed=seed))
        assert torch.equal(state, torch.get_rng_state())
        heads.append(method.head.weight.detach())
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
    assert float(heads[0].abs().max()) <= 1 / math.sqrt(16)


def test_head_and_network_receive_gradients():
    features = normal(2, 4, dtype=torch.float32).requires_grad_()
    method = prepared([0, 1], width=4)
    loss_of(method, torch.zeros(2, 3), [0, 1], features=features).backward()
    assert len(list(method.parameters())) == 2
    assert all(bool(p.grad.any()) for p in method.parameters())
    assert bool(features.grad.any()), "the backbone gets gradients of the attention, as in the public code"


def test_missing_features_and_prepare_raise():
    with pytest.raises(ValueError, match="num_features must not be None"):
        NAL().prepare(training_info([0, 1]))
    zero = torch.tensor([0])
    with pytest.raises(ValueError, match="the outputs must have features"):
        prepared([0]).loss((Outputs(torch.zeros(1, 3)),), Batch(zero, zero, zero), 1)
    with pytest.raises(RuntimeError, match="prepare"):
        loss_of(NAL(), torch.zeros(1, 3), [0])
    with pytest.raises(TypeError, match="needs more than logits"):
        NAL().step(torch.zeros(1, 3), zero, zero, 1)


def test_presets_match_the_appendix():
    found = {dataset: get(spec) for dataset, spec in nal.PRESETS.items()}
    lam = {dataset: method.lam for dataset, method in found.items()}
    assert lam == {"cifar10": 0.5, "cifar100": 10, "animal10n": 0.5, "webvision": 50, "clothing1m": 50}
    assert {method.alpha for method in found.values()} == {0.9}
    assert {dataset for dataset, method in found.items() if method.rce} == {"webvision", "clothing1m"}
    assert pytest.approx(math.log(1e-4)) == found["clothing1m"].A
