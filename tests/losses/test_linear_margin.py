"""``linear_margin`` against the margin of stored logits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

from noiseproof.kernels.linear import margin as slabs
from noiseproof.kernels.linear.margin import KeptLogits
from noiseproof.losses import linear_margin, margin


def problem(rows, width, classes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tensors = [
        3 * torch.randn(size, dtype=torch.float64, generator=generator)
        for size in ((rows, width), (classes, width), (classes,))
    ]
    return [t.requires_grad_() for t in tensors], torch.randint(classes, (rows,), generator=generator)


@settings(deadline=None, max_examples=50)
@given(
    rows=st.integers(0, 30),
    width=st.integers(1, 6),
    classes=st.integers(2, 12),
    chunk=st.none() | st.integers(1, 35),
    ignored=st.sampled_from([0.0, 0.4, 1.0]),
    biased=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_linear_margin_matches_stored_logits(rows, width, classes, chunk, ignored, biased, seed):
    inputs, target = problem(rows, width, classes, seed)
    inputs = inputs if biased else inputs[:2]
    generator = torch.Generator().manual_seed(seed)
    target = torch.where(torch.rand(rows, generator=generator) < ignored, 255, target)
    hidden, weight, *bias = inputs
    found = linear_margin(
        hidden, weight, target, bias=bias[0] if bias else None, ignore_index=255, chunk=chunk
    )
    wanted = margin(linear(hidden, weight, *bias), target, ignore_index=255)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    upstream = torch.randn(rows, dtype=torch.float64, generator=generator)
    slopes = torch.autograd.grad(wanted, inputs, upstream)
    for _ in range(2):
        gradients = torch.autograd.grad(found, inputs, upstream, retain_graph=True)
        torch.testing.assert_close(gradients, slopes, rtol=1e-12, atol=1e-12)


def test_functions_of_linear_margin_match_stored_logits():
    (hidden, weight, _), target = problem(20, 4, 7)
    focal = torch.sigmoid(-linear_margin(hidden, weight, target, chunk=3)).square().mean()
    plain = torch.sigmoid(-margin(linear(hidden, weight), target)).square().mean()
    found, wanted = (torch.autograd.grad(one, (hidden, weight)) for one in (focal, plain))
    torch.testing.assert_close(found, wanted)


def test_logits_of_the_last_chunk_are_computed_once(monkeypatch):
    sizes = []

    def counted(rows, *others):
        sizes.append(len(rows))
        return linear(rows, *others)

    monkeypatch.setattr(slabs, "linear", counted)
    inputs, target = problem(23, 4, 7)
    found = linear_margin(*inputs[:2], target, bias=inputs[2], chunk=6).sum()
    assert sizes == [6, 6, 6, 5]
    torch.autograd.grad(found, inputs, retain_graph=True)
    assert sizes[4:] == [18, 18, 18]  # slabs of classes, of all other rows
    torch.autograd.grad(found, inputs)
    assert sizes[7:] == [23, 23, 23, 23]


def test_no_logits_are_kept_inside_a_checkpoint(monkeypatch):
    """A checkpoint saves memory, which kept logits would occupy."""
    kept = []
    monkeypatch.setattr(slabs, "KeptLogits", lambda *logits: kept.append(KeptLogits(*logits)) or kept[-1])
    (hidden, weight, bias), target = problem(23, 4, 7)

    def margins(hidden):
        return linear_margin(hidden, weight, target, bias=bias, chunk=6)

    found = checkpoint(margins, hidden, use_reentrant=False).sin().sum()
    assert [one.take() for one in kept] == [None]
    wanted = torch.autograd.grad(margins(hidden).sin().sum(), (hidden, weight, bias))
    assert kept[-1].take() is None  # freed by the backward pass
    torch.testing.assert_close(torch.autograd.grad(found, (hidden, weight, bias)), wanted)


def test_float16_gradients_are_accumulated_in_float32():
    (hidden, weight, _), target = problem(64, 4, 7)
    halves = [tensor.detach().half().requires_grad_() for tensor in (hidden, weight)]
    found = linear_margin(*halves, target, chunk=16).sum()
    first = torch.autograd.grad(found, halves, retain_graph=True)
    second = torch.autograd.grad(found, halves)
    exact = [tensor.detach().double().requires_grad_() for tensor in halves]
    wanted = torch.autograd.grad(margin(linear(*exact), target).sum(), exact)
    for gradients in (first, second):
        for one, reference in zip(gradients, wanted, strict=True):
            assert one.dtype == torch.float16
            assert (one.double() - reference).norm() < 2e-3 * reference.norm()


@pytest.mark.parametrize("wanted", [[0], [1], [2], [0, 2], [1, 2]])
def test_subsets_of_gradients(wanted):
    inputs, target = problem(23, 4, 7)
    for number, tensor in enumerate(inputs):
        tensor.requires_grad_(number in wanted)
    chosen = [inputs[number] for number in wanted]
    found = linear_margin(*inputs[:2], target, bias=inputs[2], chunk=6).sin().sum()
    stored = margin(linear(*inputs), target).sin().sum()
    torch.testing.assert_close(*(torch.autograd.grad(one, chosen) for one in (found, stored)))


def test_result_has_target_shape_and_is_float32_for_half_precision():
    (hidden, weight, _), target = problem(24, 4, 7)
    states, labels = hidden.detach().reshape(2, 3, 4, 4), target.reshape(2, 3, 4)
    found = linear_margin(states.bfloat16(), weight.detach().bfloat16(), labels, chunk=5)
    assert found.shape == (2, 3, 4)
    assert found.dtype == torch.float32
    wanted = margin(linear(hidden.bfloat16(), weight.bfloat16()), target)
    torch.testing.assert_close(found.reshape(-1), wanted, rtol=0.02, atol=0.05)


def test_invalid_arguments_raise():
    (hidden, weight, _), target = problem(5, 4, 7)
    with pytest.raises(TypeError, match="class indices"):
        linear_margin(hidden, weight, torch.ones(5, 7))
    with pytest.raises(ValueError, match=r"target\[2\] = 7 is not a valid class index"):
        linear_margin(hidden, weight, torch.tensor([0, 1, 7, 0, 0]))
    found = linear_margin(hidden, weight, target)
    with pytest.raises(RuntimeError, match="cannot be differentiated again"):
        torch.autograd.grad(found.sum(), hidden, create_graph=True)


def test_transforms():
    (hidden, weight, _), target = problem(5, 4, 7)
    hidden, weight = hidden.detach(), weight.detach()
    found = torch.func.jacrev(lambda h: linear_margin(h, weight, target))(hidden)
    wanted = torch.func.jacrev(lambda h: margin(linear(h, weight), target))(hidden)
    torch.testing.assert_close(found, wanted)
