"""The margin operator: identities, layouts, dtypes, gradients and errors."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noiseproof.losses import margin, row_statistics

finite = st.floats(-50, 50, allow_nan=False)


def random_rows(rows=6, classes=5, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, classes, dtype=torch.float64, generator=generator)
    return logits.to(dtype), torch.randint(classes, (rows,), generator=generator)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays("float64", st.tuples(st.integers(1, 6), st.integers(2, 9)), elements=finite), st.data())
def test_sigmoid_of_the_margin_is_the_softmax(array, data):
    logits = torch.from_numpy(array)
    target = torch.tensor([data.draw(st.integers(0, logits.shape[1] - 1)) for _ in range(len(logits))])
    found = margin(logits, target)
    p = logits.softmax(1).gather(1, target[:, None]).squeeze(1)
    torch.testing.assert_close(torch.sigmoid(found), p, rtol=1e-10, atol=1e-14)
    others = logits.scatter(1, target[:, None], -torch.inf).amax(1)
    own = logits.gather(1, target[:, None]).squeeze(1)
    assert (found <= own - others + 1e-12).all()


@settings(max_examples=40, deadline=None)
@given(hnp.arrays("float64", st.tuples(st.integers(1, 5), st.integers(2, 7)), elements=finite), st.data())
def test_gradient_is_one_hot_minus_softmax_of_the_others(array, data):
    logits = torch.from_numpy(array).requires_grad_()
    target = torch.tensor([data.draw(st.integers(0, logits.shape[1] - 1)) for _ in range(len(logits))])
    (gradient,) = torch.autograd.grad(margin(logits, target).sum(), logits)
    one_hot = torch.nn.functional.one_hot(target, logits.shape[1]).double()
    others = logits.detach().masked_fill(one_hot.bool(), -torch.inf).softmax(1)
    torch.testing.assert_close(gradient, one_hot - others)
    torch.testing.assert_close(gradient.abs().sum(1), torch.full((len(target),), 2.0, dtype=torch.float64))


def test_margin_of_two_classes_is_a_difference():
    logits, target = random_rows(classes=2)
    own = logits.gather(1, target[:, None]).squeeze(1)
    torch.testing.assert_close(margin(logits, target), 2 * own - logits.sum(1))


def test_gradcheck_and_gradgradcheck():
    logits, target = random_rows()
    target[2] = -100
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: margin(z, target), logits)
    assert torch.autograd.gradgradcheck(lambda z: margin(z, target), logits)
    assert torch.autograd.gradcheck(lambda z: tuple(row_statistics(z, target)), logits)
    assert torch.autograd.gradgradcheck(lambda z: tuple(row_statistics(z, target)), logits)


def test_shapes():
    logits = torch.randn(2, 5, 3, 4, dtype=torch.float64)
    target = torch.randint(5, (2, 3, 4))
    found = margin(logits, target)
    assert found.shape == target.shape
    torch.testing.assert_close(found[1, 2, 3], margin(logits[1, :, 2, 3], target[1, 2, 3]))
    last = logits.contiguous(memory_format=torch.channels_last)
    assert torch.equal(margin(last, target), found)
    assert margin(torch.zeros(3), torch.tensor(1)).shape == ()
    assert margin(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)).shape == (0,)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    logits, target = random_rows(dtype=dtype)
    found = margin(logits, target)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), margin(logits.double(), target), rtol=1e-5, atol=1e-5)
    leaf = logits.clone().requires_grad_()
    margin(leaf, target).sum().backward()
    assert leaf.grad.dtype == dtype
    assert margin(logits.double(), target).dtype == torch.float64


def test_autocast_does_not_change_the_margin():
    logits, target = random_rows(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = margin(logits, target)
    assert torch.equal(found, margin(logits, target))


def test_ignored_rows_are_zero_with_zero_gradient():
    logits, target = random_rows()
    target[1] = -7
    logits[1] = torch.nan
    logits.requires_grad_()
    found = margin(logits, target, ignore_index=-7)
    assert found[1] == 0
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert not gradient[1].any()
    assert gradient[0].abs().sum() == pytest.approx(2)


def test_masked_classes_are_excluded():
    logits, target = random_rows()
    target.clamp_(max=3)
    masked = logits.clone()
    masked[:, 4] = -torch.inf
    torch.testing.assert_close(margin(masked, target), margin(logits[:, :4], target))
    for found, wanted in zip(
        row_statistics(masked, target), row_statistics(logits[:, :4], target), strict=True
    ):
        torch.testing.assert_close(found, wanted)


def test_row_statistics_match_their_definitions():
    logits, target = random_rows()
    found, p = row_statistics(logits, target), logits.softmax(1)
    torch.testing.assert_close(found.margin, margin(logits, target))
    torch.testing.assert_close(found.logsumexp, logits.logsumexp(1))
    torch.testing.assert_close(found.sum_z, logits.sum(1))
    torch.testing.assert_close(found.sum_p2, (p * p).sum(1))
    torch.testing.assert_close(found.sum_pz, (p * logits).sum(1))


def test_large_inputs_match_small_inputs():
    logits, target = random_rows(700, 1000, torch.float32)
    leaf = logits.clone().requires_grad_()
    whole = margin(leaf, target)
    (gradient,) = torch.autograd.grad(whole.sum(), leaf)
    torch.testing.assert_close(whole[:5], margin(logits[:5], target[:5]))
    exact = margin(logits.double(), target)
    torch.testing.assert_close(whole.double(), exact, rtol=1e-5, atol=1e-5)
    small = logits[-3:].clone().requires_grad_()
    (part,) = torch.autograd.grad(margin(small, target[-3:]).sum(), small)
    torch.testing.assert_close(gradient[-3:], part, rtol=1e-5, atol=1e-9)


def test_compile_gives_one_graph():
    logits, target = random_rows()
    compiled = torch.compile(margin, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(logits, target), margin(logits, target))
    statistics = torch.compile(row_statistics, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(statistics(logits, target).sum_pz, row_statistics(logits, target).sum_pz)


@pytest.mark.slow
def test_inductor_matches_eager():
    logits, target = random_rows(dtype=torch.float32)
    torch.testing.assert_close(torch.compile(margin, fullgraph=True)(logits, target), margin(logits, target))


def test_transforms():
    logits, target = random_rows()
    single = torch.func.grad(lambda z, y: margin(z, y))
    rows = torch.func.vmap(single)(logits, target)
    leaf = logits.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(margin(leaf, target).sum(), leaf)
    torch.testing.assert_close(rows, wanted)
    hessian = torch.func.hessian(lambda z: margin(z, target).sum())(logits)
    reference = torch.autograd.functional.hessian(lambda z: margin(z, target).sum(), logits)
    torch.testing.assert_close(hessian, reference)


@pytest.mark.parametrize(
    ("logits", "target", "error", "message"),
    [
        (torch.zeros(2, 3), torch.tensor([0, 3]), ValueError, r"target\[1\] = 3 is not a valid class index"),
        (
            torch.zeros(2, 3),
            torch.tensor([-1, 0]),
            ValueError,
            r"target\[0\] = -1 is not a valid class index",
        ),
        (torch.zeros(2, 3, 2), torch.tensor([[0, 0], [0, 9]]), ValueError, r"target\[1, 1\] = 9"),
        (torch.zeros(2, 1), torch.tensor([0, 0]), ValueError, "at least 2"),
        (torch.zeros(2, 3), torch.tensor([0]), ValueError, r"shape \(1,\)"),
        (torch.zeros(2, 3, dtype=torch.int64), torch.tensor([0, 1]), TypeError, "floating point"),
        (torch.zeros(2, 3), torch.zeros(2, 3), TypeError, "class indices"),
        (torch.tensor(1.0), torch.tensor(0), ValueError, "class dimension"),
        (torch.tensor([[0.0, torch.nan]]), torch.tensor([0]), ValueError, r"logits\[0, 1\] = nan"),
        (torch.tensor([[0.0, torch.inf]]), torch.tensor([0]), ValueError, r"logits\[0, 1\] = inf"),
        (torch.tensor([[0.0, -torch.inf]]), torch.tensor([1]), ValueError, "is the label"),
        (torch.tensor([[0.0, -torch.inf]]), torch.tensor([0]), ValueError, "every class but the label"),
        (torch.tensor([[3e38, -3e38]]), torch.tensor([0]), ValueError, "overflows"),
    ],
)
def test_invalid_arguments_raise(logits, target, error, message):
    with pytest.raises(error, match=message):
        margin(logits, target)
