"""Forward, Backward and SAdaptation: losses, numerical stability, and checks of the matrix."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from real_world_trees import TREES
from torch.nn.functional import cross_entropy
from training_info import normal, training_info

from noiseproof import losses
from noiseproof.methods import Backward, Forward, SAdaptation, get

CYCLE = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]], dtype=torch.float64)


def prepared(kind, matrix=CYCLE, label=(0, 1, 2), **options):
    method = kind(transition=matrix, **options)
    method.prepare(training_info(list(label), classes=3))
    return method


def per_label(method, logits):
    """The loss of one sample under each given label, (C,)."""
    zero = torch.tensor([0])
    return torch.stack([method.step(logits, torch.tensor([label]), zero, 1) for label in range(3)])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), scale=st.floats(0.1, 8))
def test_forward_is_negative_log_of_noisy_prediction(seed, scale):
    logits = scale * normal(1, 3, seed=seed)
    noisy = (logits.softmax(1) @ CYCLE).squeeze(0)
    torch.testing.assert_close(per_label(prepared(Forward), logits), -noisy.log(), rtol=1e-6, atol=1e-9)
    reverse = per_label(prepared(Forward, rce=0.5, A=-3.0), logits)
    torch.testing.assert_close(reverse, -noisy.log() + 0.5 * 3 * (1 - noisy), rtol=1e-6, atol=1e-9)


def test_forward_with_identity_is_cross_entropy_plus_rce():
    logits, label = normal(6, 3), torch.arange(6) % 3
    plain = prepared(Forward, torch.eye(3), label).step(logits, label, label, 1)
    torch.testing.assert_close(plain, cross_entropy(logits, label))
    boosted = prepared(Forward, torch.eye(3), label, rce=2.0).step(logits, label, label, 1)
    torch.testing.assert_close(boosted, losses.get("ce + 2.0*rce")(logits, label))


def test_forward_is_exact_where_probabilities_underflow():
    found = per_label(prepared(Forward), torch.tensor([[0.0, -1e4, -2e4]]))
    wanted = [-np.log(0.7), -np.log(0.3), 1e4 - np.log(0.2)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-6)


def test_forward_gradient_vanishes_at_the_clean_posterior():
    """With p the true posterior, the gradient averaged over labels drawn from pT vanishes."""
    logits = normal(1, 3).requires_grad_()
    share = (logits.detach().softmax(1) @ CYCLE).squeeze(0)
    (found,) = torch.autograd.grad((share * per_label(prepared(Forward), logits)).sum(), logits)
    torch.testing.assert_close(found, torch.zeros_like(found), rtol=0, atol=1e-7)
    (plain,) = torch.autograd.grad((share * per_label(prepared(Forward, torch.eye(3)), logits)).sum(), logits)
    assert plain.abs().max() > 1e-2, "without the matrix the gradient does not vanish"


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_backward_is_unbiased(seed):
    logits = 3 * normal(1, 3, seed=seed)
    expected = CYCLE @ per_label(prepared(Backward), logits)
    torch.testing.assert_close(expected, -logits.log_softmax(1).squeeze(0), rtol=1e-5, atol=1e-6)


def test_only_backward_rejects_singular_matrix():
    flat = torch.full((3, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"cannot be inverted \(condition number .*use forward"):
        prepared(Backward, flat)
    prepared(Forward, flat)


@pytest.mark.parametrize("kind", [Forward, Backward])
def test_missing_matrix_raises_value_error(kind):
    with pytest.raises(ValueError, match=rf"{kind.name} needs a matrix: give transition=\.\.\."):
        prepared(kind, None)


def test_label_with_zero_column_raises_value_error():
    matrix = torch.tensor([[1.0, 0, 0], [1.0, 0, 0], [0, 0, 1.0]])
    with pytest.raises(ValueError, match="2 samples have the label 1, but column 1 of the matrix is zero"):
        prepared(Forward, matrix, label=(0, 1, 1))
    prepared(Forward, matrix, label=(0, 2, 2))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (torch.eye(4), "4 classes does not fit num_classes=3"),
        (torch.ones(3, 3), "row 0 of the transition matrix sums to 3"),
        (torch.zeros(3), r"\(K, K\)"),
        (torch.tensor([[2.0, -1.0], [0.0, 1.0]]), r"transition\[0, 1\] = -1"),
    ],
)
def test_invalid_matrices_raise_value_error(matrix, message):
    with pytest.raises(ValueError, match=message):
        prepared(Forward, matrix)


@pytest.mark.parametrize("kind", ["npy", "csv", "json", "npz"])
def test_matrix_files_are_read(tmp_path, kind):
    path = tmp_path / f"matrix.{kind}"
    match kind:
        case "npy":
            np.save(path, CYCLE.numpy())
        case "npz":
            np.savez(path, CYCLE.numpy())
        case "csv":
            np.savetxt(path, CYCLE.numpy(), delimiter=",")
        case "json":
            path.write_text(json.dumps(CYCLE.tolist()))
    method = get(f"forward(transition={json.dumps(str(path))}, rce=0.5)")
    method.prepare(training_info([0, 1, 2]))
    torch.testing.assert_close(method.log_transition.exp().double(), CYCLE, rtol=1e-6, atol=1e-7)
    assert str(get(str(method))) == str(method)
    assert str(path) in str(method)


def test_missing_and_pickled_files_are_rejected(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Forward(transition=str(tmp_path / "nothing.npy"))
    np.save(tmp_path / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot read"):
        Forward(transition=tmp_path / "pickled.npy")


def test_matrix_of_noise_spec():
    method = prepared(Forward, "symmetric(0.4)")
    wanted = torch.full((3, 3), 0.2).fill_diagonal_(0.6)
    torch.testing.assert_close(method.log_transition.exp(), wanted)


def test_matrix_counted_on_clothing1m(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEPROOF_DATA", str(tmp_path))
    method = get('forward(transition="clothing1m")')
    assert str(method) == 'forward(transition="clothing1m", rce=0.0, A=-4.0)'
    TREES["clothing1m"](tmp_path)
    method.prepare(training_info(range(14), classes=14))
    wanted = 0.5 * torch.eye(14) + 0.5 * torch.eye(14).roll(1, 1)
    torch.testing.assert_close(method.log_transition.exp(), wanted)


def test_array_prints_as_digest_that_cannot_be_parsed():
    method = prepared(Backward)
    assert "<array sha256:" in str(method)
    with pytest.raises(ValueError, match="stands for an array that was in memory"):
        get(str(method))


def test_adaptation_layer_is_initialised_near_identity_or_at_the_matrix():
    method = prepared(SAdaptation, None, rate=0.3)
    torch.testing.assert_close(method.learned(), torch.full((3, 3), 0.15).fill_diagonal_(0.7))
    torch.testing.assert_close(prepared(SAdaptation).learned().double(), CYCLE, rtol=0, atol=2e-4)


def test_initial_adaptation_layer_equals_forward():
    full = 0.9 * CYCLE + 0.1 / 3
    adapted, forward = (per_label(prepared(kind, full), normal(1, 3)) for kind in (SAdaptation, Forward))
    torch.testing.assert_close(adapted, forward, rtol=1e-5, atol=1e-6)


def test_adaptation_layer_learns_the_matrix():
    clean = torch.arange(300) % 3
    given_label = torch.where(torch.arange(300) % 10 < 3, (clean + 1) % 3, clean)
    method = SAdaptation()
    method.prepare(training_info(given_label))
    logits = 30.0 * torch.eye(3)[clean]
    optimizer = torch.optim.Adam(method.parameters(), lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        method.step(logits, given_label, torch.arange(300), 1).backward()
        optimizer.step()
    wanted = 0.7 * torch.eye(3) + 0.3 * torch.eye(3).roll(1, 1)
    torch.testing.assert_close(method.learned(), wanted, rtol=0, atol=0.02)
