"""``loss.linear`` against the same loss of stored logits, in float64."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear

from noiseproof import losses
from noiseproof.kernels import Partials, Wanted
from noiseproof.losses.statistics_loss import StatisticsLoss

WRAPPERS = {"cr", "peer", "scale", "shift", "unit_max"}
SPECS = [f"{name}(gce)" if name in WRAPPERS else name for name in losses.LOSSES if name != "binary"]
COMPOSED = [
    "ce + 0.5*mae",
    "10*nce + 0.1*agce(a=1.8, q=3)",
    "unit_max(scale(gce + mae, tau=3.0))",
    "cr(nce) + gls",
    "cr(cr(ce), beta=0.5)",
]
COMPARE_ROWS = [
    'gr(normalize="batch")',
    'scale(imae(normalize="batch")) + ce',
    'nce + gr(normalize="batch")',
    'peer(gr(normalize="batch"))',
    "cr(nce) + peer(gls, alpha=0.3)",
]


def problem(rows=23, width=6, classes=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = 2 * torch.randn(rows, width, dtype=torch.float64, generator=generator)
    weight = torch.randn(classes, width, dtype=torch.float64, generator=generator)
    bias = torch.randn(classes, dtype=torch.float64, generator=generator)
    return hidden, weight, bias, torch.randint(classes, (rows,), generator=generator)


def leaves(*tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def assert_same(found, wanted, tolerance=1e-12):
    for one, other in zip(found, wanted, strict=True):
        largest = float(other.detach().abs().max()) if other.numel() else 0.0
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance * max(1.0, largest))


def compare(loss, target, *, chunk=5, tensors=None, sample_weight=None, seed=0, upstream=None):
    """Compare value and gradients of both; ``upstream`` is the gradient of the result."""
    hidden, weight, bias = leaves(*(tensors or problem(len(target))[:3]))
    stored = copy.deepcopy(loss)(linear(hidden, weight, bias), target, sample_weight=sample_weight)
    fused = loss.linear(hidden, weight, target, bias=bias, sample_weight=sample_weight, chunk=chunk)
    if upstream is None:
        generator = torch.Generator().manual_seed(seed)
        upstream = torch.randn(stored.shape, dtype=stored.dtype, generator=generator)
    assert_same([fused], [stored])
    inputs = (hidden, weight, bias)
    wanted = torch.autograd.grad(stored, inputs, upstream)
    assert_same(torch.autograd.grad(fused, inputs, upstream, retain_graph=True), wanted)
    assert_same(torch.autograd.grad(fused, inputs, 3 * upstream), [3 * one for one in wanted])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", SPECS + COMPOSED + COMPARE_ROWS)
def test_value_and_gradients_match_stored_logits(spec, reduction):
    target = problem()[3]
    target[[2, 11]] = -100
    compare(losses.get(spec, reduction=reduction), target)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["gce", "10*nce + 0.1*agce", "cr(ce)", "peer(mae)", 'gr(normalize="batch")'])
def test_class_and_sample_weights_match_stored_logits(spec, reduction):
    target = problem()[3]
    target[4] = -100
    weight = torch.linspace(0, 3, 9, dtype=torch.float64)
    share = torch.linspace(0, 2, len(target), dtype=torch.float64)
    compare(losses.get(spec, reduction=reduction, weight=weight), target, sample_weight=share)


def test_ignore_index_may_be_a_class():
    compare(losses.get("gce", ignore_index=3), problem()[3])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["gce", "nce + ce", "gls", "cr(ce, beta=0.5)"])
def test_soft_targets(spec, reduction):
    soft = torch.softmax(problem(23, 9, seed=1)[0], 1)
    loss = losses.get(spec, reduction=reduction, weight=torch.linspace(0.1, 1, 9, dtype=torch.float64))
    if spec.startswith("cr"):
        loss.prior = torch.full((9,), 1 / 9, dtype=torch.float64)
    compare(loss, soft)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(0, 40),
    width=st.integers(1, 7),
    classes=st.integers(2, 12),
    chunk=st.integers(1, 45),
    spec=st.sampled_from(
        [
            "mae",
            "nce",
            "gls + ce",
            "scale(gce, initial_margin=2.0)",
            "cr(ce)",
            "peer(ce)",
            "gr(normalize='batch')",
        ]
    ),
    reduction=st.sampled_from(["mean", "sum", "none"]),
    ignored=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 1000),
)
def test_random_shapes_and_chunks(rows, width, classes, chunk, spec, reduction, ignored, seed):
    hidden, weight, bias, target = problem(rows, width, classes, seed)
    drawn = torch.rand(rows, generator=torch.Generator().manual_seed(seed))
    target = torch.where(drawn < ignored, -100, target)
    loss = losses.get(spec, reduction=reduction)
    compare(loss, target, chunk=chunk, tensors=(hidden, weight, bias), seed=seed)


@pytest.mark.parametrize("spec", ["ce", "nce", 'imae(normalize="batch")'])
def test_ignored_and_empty_batches_are_zero(spec):
    hidden, weight, bias, target = problem()
    for states, labels in ((hidden, torch.full_like(target, -100)), (hidden[:0], target[:0])):
        inputs = leaves(states, weight, bias)
        value = losses.get(spec).linear(inputs[0], inputs[1], labels, bias=inputs[2])
        assert value == 0
        for gradient in torch.autograd.grad(value, inputs):
            assert not gradient.any()
            assert gradient.isfinite().all()


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("required", range(8))
def test_gradients_are_computed_only_where_required(required, reduction):
    *tensors, target = problem()
    inputs = [t.clone().requires_grad_(bool(required >> i & 1)) for i, t in enumerate(tensors)]
    loss = losses.get("gce", reduction=reduction)
    value = loss.linear(inputs[0], inputs[1], target, bias=inputs[2], chunk=6)
    assert value.requires_grad == (required > 0)
    every = leaves(*tensors)
    stored = loss(linear(*every), target)
    assert_same([value], [stored])
    if required:
        value.sum().backward()
    wanted = torch.autograd.grad(stored.sum(), every)
    for found, slope in zip(inputs, wanted, strict=True):
        assert (found.grad is not None) == found.requires_grad
        if found.requires_grad:
            assert_same([found.grad], [slope])


def test_sample_weights_receive_gradients():
    hidden, weight, _, target = problem()
    for reduction in ("mean", "sum", "none"):
        loss = losses.get("gce", reduction=reduction)
        share = torch.linspace(0.5, 2, len(target), dtype=torch.float64).requires_grad_()
        upstream = torch.linspace(1, 2, len(target), dtype=torch.float64) if reduction == "none" else None
        found = loss.linear(hidden, weight, target, sample_weight=share, chunk=7)
        stored = loss(linear(hidden, weight), target, sample_weight=share)
        assert_same(torch.autograd.grad(found, share, upstream), torch.autograd.grad(stored, share, upstream))


@pytest.mark.parametrize("shape", [(), (7,), (2, 5), (2, 3, 4), (0, 3)])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_shapes_of_language_models(shape, reduction):
    hidden, weight, bias, target = problem(max(1, torch.Size(shape).numel()))
    count = torch.Size(shape).numel()
    hidden, target = hidden[:count].reshape(*shape, 6), target[:count].reshape(shape)
    loss = losses.get("gce", reduction=reduction)
    found = loss.linear(hidden, weight, target, bias=bias, chunk=2)
    assert found.shape == (shape if reduction == "none" else ())
    logits = linear(hidden, weight, bias).reshape(-1, 9)
    assert_same([found.reshape(-1)], [loss(logits, target.reshape(-1)).reshape(-1)])
    soft = torch.nn.functional.one_hot(target, 9).double()
    assert_same([loss.linear(hidden, weight, soft, bias=bias, chunk=2)], [found])


def test_shifted_hidden_states_receive_gradients():
    """Next-token prediction drops the last position: a view that is not contiguous."""
    hidden, weight, _, target = problem(24)
    states, plain = leaves(hidden.reshape(4, 6, 6), hidden.reshape(4, 6, 6))
    labels = target.reshape(4, 6)[:, 1:]
    loss = losses.get("mae")
    (found,) = torch.autograd.grad(loss.linear(states[:, :-1], weight, labels, chunk=3), states)
    logits = linear(plain[:, :-1], weight).movedim(-1, 1)
    (wanted,) = torch.autograd.grad(loss(logits, labels), plain)
    assert_same([found], [wanted])


def test_tied_weights_accumulate_both_gradients():
    _, weight, _, target = problem()
    tokens = torch.arange(23) % 9
    tied, plain = leaves(weight, weight)
    loss = losses.get("gce")
    loss.linear(torch.tanh(tied[tokens]), tied, target, chunk=4).backward()
    loss(linear(torch.tanh(plain[tokens]), plain), target).backward()
    assert_same([tied.grad], [plain.grad])


def test_gradients_accumulate_over_micro_batches():
    hidden, weight, bias, target = problem(24)
    inputs, whole = leaves(hidden, weight, bias), leaves(hidden, weight, bias)
    loss = losses.get("10*nce + 0.1*agce")
    for part in torch.arange(24).split(6):
        found = loss.linear(inputs[0][part], inputs[1], target[part], bias=inputs[2], chunk=4)
        (found / 4).backward()
    loss(linear(*whole), target).backward()
    assert_same([one.grad for one in inputs], [one.grad for one in whole])


def test_no_grad_records_no_graph():
    hidden, weight, bias, target = problem()
    inputs = leaves(hidden, weight, bias)
    with torch.no_grad():
        value = losses.get("gce").linear(inputs[0], inputs[1], target, bias=inputs[2], chunk=4)
    assert not value.requires_grad
    assert_same([value], [losses.get("gce")(linear(hidden, weight, bias), target)])


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_second_derivatives_raise_runtime_error(reduction):
    hidden, weight, _, target = problem()
    leaf = hidden.clone().requires_grad_()
    value = losses.get("gce", reduction=reduction).linear(leaf, weight, target)
    with pytest.raises(RuntimeError, match="cannot be differentiated again"):
        torch.autograd.grad(value.sum(), leaf, create_graph=True)


def test_weight_modified_after_forward_raises_runtime_error():
    hidden, weight, _, target = problem()
    leaf = hidden.clone().requires_grad_()
    value = losses.get("gce").linear(leaf, weight, target)
    weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_func_transforms_match_stored_logits():
    hidden, weight, _, target = problem()
    for reduction in ("mean", "none"):
        loss = losses.get("gce", reduction=reduction)
        found = torch.func.grad(lambda h, loss=loss: loss.linear(h, weight, target).sum())(hidden)
        wanted = torch.func.grad(lambda h, loss=loss: loss(linear(h, weight), target).sum())(hidden)
        assert_same([found], [wanted])


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_model_gives_the_same_gradients():
    hidden, weight, _, target = problem()
    loss = losses.get("gce")

    def step(states, matrix):
        return 2 * loss.linear(torch.tanh(states), matrix, target, chunk=4)

    inputs, plain = leaves(hidden, weight), leaves(hidden, weight)
    found = torch.compile(step, backend="eager")(*inputs)
    assert_same(torch.autograd.grad(found, inputs), torch.autograd.grad(step(*plain), plain))


def test_peer_advances_one_step_per_batch():
    hidden, weight, _, target = problem()
    fused, stored = losses.get("peer(ce)"), losses.get("peer(ce)")
    for _ in range(3):
        found, wanted = fused.linear(hidden, weight, target, chunk=4), stored(linear(hidden, weight), target)
        assert_same([found], [wanted])
    assert fused.step == stored.step == 3


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("spec", ["gce", "nce + mae", "gls", "mse", 'gr(normalize="batch")'])
def test_classes_masked_by_bias_match_stored_logits(spec, reduction):
    """As in vocabularies that are padded to a round number."""
    hidden, weight, bias, target = problem()
    bias[[3, 8]] = -torch.inf
    target = torch.where((target == 3) | (target == 8), 0, target)
    compare(losses.get(spec, reduction=reduction), target, tensors=(hidden, weight, bias))


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("spec", ["ce", "nce", "nfl", "cr(ce)", "peer(ce)", 'gr(normalize="batch")'])
def test_ignored_rows_can_contain_nan(spec, reduction):
    hidden, weight, _, target = problem()
    target[[1, 20]] = -100
    loss = losses.get(spec, reduction=reduction).eval()
    (clean,) = leaves(hidden)
    wanted = loss.linear(clean, weight, target, chunk=4)
    hidden[[1, 20]] = torch.nan
    (broken,) = leaves(hidden)
    found = loss.linear(broken, weight, target, chunk=4)
    assert_same([found], [wanted])
    assert_same(torch.autograd.grad(found.sum(), broken), torch.autograd.grad(wanted.sum(), clean))


def test_user_defined_loss_matches_stored_logits():
    loss = losses.MarginLoss.from_emphasis(lambda p, rest: p * rest)
    compare(loss, problem()[3])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"weight": torch.zeros(9, 5)}, ValueError, r"hidden of shape \(23, 6\) does not fit weight"),
        ({"bias": torch.zeros(8)}, ValueError, r"bias of shape \(8,\)"),
        ({"target": torch.zeros(22, dtype=torch.long)}, ValueError, r"target of shape \(22,\)"),
        ({"target": torch.zeros(23)}, ValueError, r"target of shape \(23,\) and dtype torch.float32"),
        ({"chunk": 0}, ValueError, "chunk=0"),
        ({"sample_weight": torch.ones(3)}, ValueError, "one entry per sample"),
        ({"weight": torch.zeros(9, 6)}, TypeError, "hidden is torch.float64 but weight is torch.float32"),
        ({"bias": torch.zeros(9)}, TypeError, "hidden is torch.float64 but bias is torch.float32"),
        ({"weight": torch.zeros(1, 6, dtype=torch.float64), "bias": None}, ValueError, "at least 2"),
        ({"target": torch.full((23,), 9)}, ValueError, r"target\[0\] = 9 is not a valid class index"),
        ({"target": torch.ones(23, 9, requires_grad=True)}, ValueError, "detach"),
    ],
)
def test_invalid_arguments_raise(change, error, message):
    hidden, weight, bias, target = problem()
    given = {"hidden": hidden, "weight": weight, "target": target, "bias": bias, **change}
    with pytest.raises(error, match=message):
        losses.get("gce").linear(**given)


def test_invalid_label_is_named_by_its_position():
    hidden, weight, _, target = problem(24)
    labels = target.reshape(4, 6).clone()
    labels[2, 5] = 77
    with pytest.raises(ValueError, match=r"target\[2, 5\] = 77 is not a valid class index"):
        losses.get("ce").linear(hidden.reshape(4, 6, 6), weight, labels)


def test_nan_row_is_named_by_its_number():
    hidden, weight, _, target = problem()
    hidden[17] = torch.nan
    with pytest.raises(ValueError, match=r"logits\[2, 0\] = nan.*rows counted from row 15 of the batch"):
        losses.get("ce").linear(hidden, weight, target, chunk=5)


@pytest.mark.parametrize("spec", ["peer(ce)", 'gr(normalize="batch")', "cr(ce)"])
def test_soft_targets_of_batch_losses_raise_type_error(spec):
    hidden, weight, _, _ = problem()
    with pytest.raises(TypeError, match="needs all logits"):
        losses.get(spec).linear(hidden, weight, torch.full((23, 9), 1 / 9, dtype=torch.float64))


def test_unsupported_losses_raise_type_error():
    hidden, weight, _, target = problem()
    with pytest.raises(TypeError, match="targets of the logits' shape"):
        losses.get("binary(ce)").linear(hidden, weight, target)
    with pytest.raises(TypeError, match="needs all logits at once"):
        losses.get('cr(gr(normalize="batch"))').linear(hidden, weight, target)


@pytest.mark.parametrize("chunk", [None, 2000, 100, 1])
def test_user_defined_batch_loss_uses_the_whole_batch(chunk):
    class PerBatch(losses.MarginLoss):
        def evaluate(self, margin, *, num_classes=None, mass=None):
            emphasis = torch.sigmoid(-margin)
            mean = 1.0 if mass is None else (emphasis * mass).sum() / (torch.ones_like(margin) * mass).sum()
            return -torch.nn.functional.logsigmoid(margin) / mean, emphasis / mean

    generator = torch.Generator().manual_seed(0)
    hidden, target = torch.randn(400, 4, generator=generator), torch.randint(10, (400,), generator=generator)
    weight = torch.randn(10, 4, generator=generator).requires_grad_()
    wanted = PerBatch()(torch.nn.functional.linear(hidden, weight), target)
    found = PerBatch().linear(hidden, weight, target, chunk=chunk)
    torch.testing.assert_close(found, wanted)
    slopes = (torch.autograd.grad(value, weight)[0] for value in (found, wanted))
    torch.testing.assert_close(*slopes)


class ByTanh(losses.MarginLoss):
    """A loss with an operation that kernels do not support."""

    def value(self, margin):
        return torch.log1p(torch.exp(-margin)) + 0.1 * (1 - torch.tanh(margin / 9))

    def emphasis(self, margin):
        return torch.sigmoid(-margin) + 0.1 / 9 / torch.cosh(margin / 9).square()


class Gini(StatisticsLoss):
    name = "gini"
    wanted = Wanted(squares=True)

    def value_and_partials(self, row, classes):
        mean = (1 - row.sum_p2).mean()
        return (1 - row.sum_p2) / mean, Partials(sum_p2=-torch.ones_like(mean) / mean)


@pytest.mark.parametrize(
    ("make", "is_soft"),
    [
        *((ByTanh, False), (ByTanh, True)),
        *((lambda: ByTanh() + losses.MAE(), False), (lambda: ByTanh() + losses.MAE(), True)),
        (lambda: losses.CR(ByTanh()), False),
        *((lambda: losses.CR(ByTanh(), prior=torch.full((5,), 0.2)), is_soft) for is_soft in (False, True)),
    ],
)
def test_operations_without_kernels_match_stored_logits(make, is_soft):
    generator = torch.Generator().manual_seed(0)
    hidden, weight = torch.randn(60, 4, generator=generator), torch.randn(5, 4, generator=generator)
    target = torch.randint(5, (60,), generator=generator)
    given = torch.nn.functional.one_hot(target, 5).float() if is_soft else target
    found = make().linear(hidden, weight, given, chunk=16)
    torch.testing.assert_close(found, make()(linear(hidden, weight), given))


def test_user_defined_batch_emphasis_uses_the_whole_batch():
    make = losses.MarginLoss.from_emphasis
    loss = make(lambda p, rest: p * rest / (p * rest).mean())
    generator = torch.Generator().manual_seed(0)
    hidden, target = torch.randn(300, 4, generator=generator), torch.randint(5, (300,), generator=generator)
    weight = torch.randn(5, 4, generator=generator).requires_grad_()
    (found,) = torch.autograd.grad(loss.linear(hidden, weight, target, chunk=64), weight)
    (wanted,) = torch.autograd.grad(loss(linear(hidden, weight), target), weight)
    torch.testing.assert_close(found, wanted)


def test_batch_statistics_loss_raises_type_error():
    with pytest.raises(TypeError, match="gini compares rows in a way that needs all logits at once"):
        Gini().linear(torch.randn(30, 4), torch.randn(5, 4), torch.zeros(30, dtype=torch.long))
