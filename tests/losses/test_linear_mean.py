"""Batch-normalised losses of a linear layer: logits are computed once."""

import pytest
import torch
from torch.nn.functional import linear

from noiseproof import losses
from noiseproof.kernels.linear import margin, total

SPECS = ['gr(normalize="batch")', 'imae(T=4.0, normalize="batch")', 'gr(g="identity", normalize="batch")']


def problem(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    sizes = (23, 5), (9, 5), (9,)
    tensors = [torch.randn(size, generator=generator, dtype=torch.float64).to(dtype) for size in sizes]
    target = torch.randint(9, (23,), generator=generator)
    target[[3, 20]] = -100
    return tensors, target


def leaves(tensors):
    return [t.detach().clone().requires_grad_() for t in tensors]


def of_linear(loss, tensors, target, **how):
    hidden, weight, bias = inputs = leaves(tensors)
    value = loss.linear(hidden, weight, target, bias=bias, **how)
    return [value, *torch.autograd.grad(value, inputs)]


def of_logits(loss, tensors, target, **how):
    inputs = leaves(tensors)
    value = loss(linear(*inputs), target, **how)
    return [value, *torch.autograd.grad(value, inputs)]


@pytest.fixture
def products(monkeypatch):
    """The number of rows of each chunk of logits that is computed."""
    sizes = []

    def counted(*arguments):
        sizes.append(arguments[0].shape[0])
        return linear(*arguments)

    for module in (total, margin):
        monkeypatch.setattr(module, "linear", counted)
    return sizes


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("spec", SPECS)
def test_logits_are_computed_once(spec, reduction, products):
    tensors, target = problem()
    loss = losses.get(spec, reduction=reduction)
    found = of_linear(loss, tensors, target, chunk=6)
    assert products == [6, 6, 6, 5]
    for one, wanted in zip(found, of_logits(loss, tensors, target), strict=True):
        torch.testing.assert_close(one, wanted)


@pytest.mark.parametrize(("spec", "how"), [("scale({})", {}), ("{} + ce", {}), ("{}", {"reduction": "none"})])
def test_compositions_compute_all_margins_first(spec, how, products):
    tensors, target = problem()
    loss = losses.get(spec.format(SPECS[0]), **how)
    hidden, weight, _ = inputs = leaves(tensors)
    loss.linear(hidden, weight, target, bias=inputs[2], chunk=6).sum().backward()
    assert products[:4] == [6, 6, 6, 5]
    assert len(products) > 4


def test_logits_are_computed_once_without_gradients(products):
    (hidden, weight, bias), target = problem()
    loss = losses.get(SPECS[0])
    value = loss.linear(hidden, weight, target, bias=bias, chunk=6)
    assert products == [6, 6, 6, 5]
    torch.testing.assert_close(value, loss(linear(hidden, weight, bias), target))


def test_sample_weights_have_the_gradients_of_stored_logits():
    tensors, target = problem()
    loss = losses.get(SPECS[0])
    stored, fused = (torch.linspace(0, 2, 23, dtype=torch.float64).requires_grad_() for _ in range(2))
    value = loss.linear(*tensors[:2], target, bias=tensors[2], sample_weight=fused, chunk=6)
    value.backward()
    loss(linear(*tensors), target, sample_weight=stored).backward()
    torch.testing.assert_close(fused.grad, stored.grad)
    assert not fused.grad[[3, 20]].any()


def test_backward_twice_gives_equal_gradients():
    tensors, target = problem()
    hidden, weight, bias = inputs = leaves(tensors)
    value = losses.get(SPECS[0]).linear(hidden, weight, target, bias=bias, chunk=6)
    first = torch.autograd.grad(value, inputs, retain_graph=True)
    for one, again in zip(first, torch.autograd.grad(value, inputs), strict=True):
        torch.testing.assert_close(one, again)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_near_float_max_do_not_overflow(dtype):
    """exp(310 p (1 - p)) is 5e33 for p = 1/2; its product with hidden states of 1e6 overflows."""
    tensors = [torch.full((4, 1), 1e6), torch.tensor([[2.0], [-1.0]]) / 2**31, torch.zeros(2)]
    tensors, target = [t.to(dtype) for t in tensors], torch.tensor([0, 1, 0, 0])
    loss = losses.get('gr(beta=310.0, lam=1.0, normalize="batch")')
    wanted = of_logits(loss, [t.double() for t in tensors], target)
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 0.02}[dtype]
    for one, exact in zip(of_linear(loss, tensors, target, chunk=2), wanted, strict=True):
        assert one.isfinite().all()
        assert (one.double() - exact).norm() <= tolerance * exact.norm()


@pytest.mark.parametrize("spec", SPECS)
def test_batches_without_weight_have_finite_gradients(spec):
    """With ignored rows, and with rows whose margins are beyond the saturation."""
    tensors, target = problem()
    loss = losses.get(spec)
    ignored, inputs = torch.full_like(target, -100), leaves(tensors)
    (1e6 * loss.linear(*inputs[:2], ignored, bias=inputs[2], chunk=6)).backward()
    sure, weight = (
        torch.ones(4, 1, requires_grad=True),
        torch.tensor([[40.0], [0.0]], requires_grad=True),
    )
    (1e6 * loss.linear(sure, weight, torch.zeros(4, dtype=torch.int64))).backward()
    for one in (*inputs, sure, weight):
        assert one.grad.isfinite().all()
    assert not any(one.grad.any() for one in inputs)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["ce", "nce", "cr(ce)", *SPECS])
def test_values_without_gradients_match_stored_logits(spec, reduction, mode):
    loss = losses.get(spec, reduction=reduction)
    with mode():
        (hidden, weight, bias), target = problem()
        share = torch.linspace(0, 2, 23, dtype=torch.float64)
        found = loss.linear(hidden, weight, target, bias=bias, sample_weight=share, chunk=6)
        torch.testing.assert_close(found, loss(linear(hidden, weight, bias), target, sample_weight=share))


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_batched_upstream_gradients_raise_runtime_error(reduction):
    (hidden, *others), target = problem()
    value = losses.get("ce", reduction=reduction).linear(hidden.requires_grad_(), others[0], target)
    with pytest.raises(RuntimeError, match=r"one upstream gradient at a time \(is_grads_batched=True\)"):
        torch.autograd.grad(value, hidden, torch.ones(2, *value.shape), is_grads_batched=True)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_float16_computes_all_margins_first(dtype, products):
    """Also with bfloat16 autocast, where gradients are stored in float16."""
    tensors, target = problem(torch.float16)
    loss = losses.get(SPECS[0])
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        found = of_linear(loss, tensors, target, chunk=6)
    assert products[:4] == [6, 6, 6, 5]
    assert len(products) > 4
    wanted = of_logits(loss, [t.double() for t in tensors], target)
    for one, exact in zip(found, wanted, strict=True):
        assert (one.double() - exact).norm() <= 0.03 * exact.norm()
