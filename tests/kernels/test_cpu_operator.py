"""Every loss on the compiled CPU operator against the torch expressions in float64."""

import gc
import threading
from contextlib import nullcontext

import pytest
import torch
from operator_checks import compare, compare_curvature, names_mistakes, went_through
from row_batches import TOLERANCE, batch, step
from torch.autograd import forward_ad

from noiseproof import losses
from noiseproof.kernels import Partials, Wanted, apply
from noiseproof.kernels.cpu import operator as cpu_operator
from noiseproof.kernels.program import recording_of
from noiseproof.losses import MarginLoss
from noiseproof.losses.statistics_loss import StatisticsLoss

COMPILED = [
    *("ce", "focal", "mae", "rce", "sl", "sce", "gce", "truncated_gce", "tce", "aul", "agce", "ael"),
    *("nal_fixed", "nce", "mse", "gls", "scale(mae)", "shift(gce)", "unit_max(gce)", "tce(order=30)"),
    *(
        "10*nce + 0.1*agce(a=1.8, q=3)",
        "ce + 2*mae",
        'gr(g="identity", normalize="none")',
        "gls(alpha=-0.5)",
        "mse(alpha=0.3)",
    ),
    *('gr(normalize="batch")', 'imae(normalize="batch")', 'gr(g="identity", normalize="batch")'),
    *(
        "gr(normalize='none')",
        "imae(normalize='none')",
        "nce + gr(normalize='none')",
        "cr(ce)",
        "cr(ce, beta=0.3)",
        "ce + mse + gls",
    ),
]
AS_TORCH = [
    "nfl",
    "cr(gr(normalize='none'))",
    "cr(gce)",
    "cr(nce)",
    "peer(ce)",
    "nfl + mae",
    'ce + gr(normalize="batch")',
]


@pytest.mark.parametrize("spec", COMPILED)
def test_value_and_gradient(spec, operator):
    loss = losses.get(spec)
    assert went_through(loss, *batch(70, 5))
    compare(loss, *batch(70, 5), 1e-5)


def test_a_mean_over_several_processes_is_left_to_torch(operator, monkeypatch):
    loss = losses.get('gr(normalize="batch")')
    assert went_through(loss, *batch(9, 5))
    monkeypatch.setattr(apply, "is_distributed", lambda: True)
    assert not went_through(loss, *batch(9, 5))
    assert went_through(losses.get("gr(normalize='none')"), *batch(9, 5))


@pytest.mark.parametrize("spec", AS_TORCH)
def test_losses_beyond_a_program_take_the_other_way(spec, operator):
    loss = losses.get(spec).eval()
    assert not went_through(loss, *batch(9, 5))
    assert step(loss, *batch(9, 5))[1].isfinite().all()


@pytest.mark.parametrize("spec", ['gr(normalize="batch")', 'imae(normalize="batch")'])
def test_no_upstream_makes_nan_of_a_batch_without_weight(spec, operator):
    """Rows that are ignored, and rows whose margins are beyond the saturation."""
    ignored, sure = torch.full((3,), -100), torch.zeros(3, dtype=torch.int64)
    for logits, target in ((torch.zeros(3, 4), ignored), (torch.tensor([[40.0, 0.0]] * 3), sure)):
        value, gradient = step(losses.get(spec), logits, target)
        leaf = logits.requires_grad_()
        (1e6 * losses.get(spec)(leaf, target)).backward()
        assert value == 0
        assert not gradient.any()
        assert not leaf.grad.any()


@pytest.mark.parametrize("classes", [2, 3, 15, 16, 17, 100, 1000, 33000])
@pytest.mark.parametrize("spec", ["gce", "mse", "10*nce + 0.1*agce(a=1.8, q=3)", "cr(ce)"])
def test_any_number_of_classes(spec, classes, operator):
    """Of two classes the gradient of NCE vanishes as 1 - NCE does, which float32 cannot tell from 0."""
    floor = 1e-2 if classes < 4 or spec == "cr(ce)" else 0.0
    logits, target = batch(5 if classes > 100 else 200, classes)
    if classes == 2:
        target = torch.where(target < 0, target, torch.arange(len(target)) % 2)
    compare(losses.get(spec), logits, target, 1e-5, floor)


@pytest.mark.parametrize("spec", ["mse", "cr(ce)"])
def test_classes_that_are_equally_likely(spec, operator):
    """None of them is alone at the top."""
    logits = torch.tensor([[2.0, 2.0, -1.0], [3.0, 3.0, 3.0], [4.0, 1.0, 4.0], [0.0, 0.0, 9.0]]).repeat(1, 9)
    compare(losses.get(spec), logits, torch.tensor([0, 1, 1, 2]), 1e-5)


@pytest.mark.parametrize("spec", ["gce", "nce"])
def test_any_strides(spec, operator):
    logits, target = batch(6, 7)
    _, wanted = step(losses.get(spec), logits, target)
    wide = torch.stack([logits, logits], 2)
    for view in (wide[:, :, 0], logits.t().contiguous().t(), wide.transpose(0, 1)[:, :, 1].t()):
        leaf = view.detach().requires_grad_()
        (found,) = torch.autograd.grad(losses.get(spec)(leaf, target), leaf)
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    "spec", ["ce", "mse", "gls", "gr(normalize='none')", "cr(ce)", 'imae(normalize="batch")']
)
def test_half_precision(spec, dtype, operator):
    compare(losses.get(spec), *batch(5, 37, dtype), TOLERANCE[dtype])


def test_a_loss_scale_comes_before_rounding(operator):
    """A mean over many rows has entries below what float16 can hold; the upstream factor lifts them."""
    logits, target = torch.zeros(5000, 4000, dtype=torch.float16), torch.zeros(5000, dtype=torch.int64)
    leaf = logits.requires_grad_()
    (losses.get("ce")(leaf, target) * 65536.0).backward()
    assert float(leaf.grad[0, 1]) == pytest.approx(65536 / 4000 / 5000, rel=1e-3)


@pytest.mark.parametrize("spec", ["ce", "mae", "nce", "gls", "gce", "mse", "cr(ce)"])
@pytest.mark.parametrize("level", [-1e4, 1e4])
def test_extreme_logits(spec, level, operator):
    logits, target = batch(6, 9)
    compare(losses.get(spec), logits + level, target, 1e-5)
    wide = 1e4 * logits.sign() + logits
    found, gradient = step(losses.get(spec), wide, target)
    assert found.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("spec", ["gce", "nce", "gr(normalize='none')"])
def test_weights_and_reductions(spec, reduction, operator):
    logits, target = batch(7, 5)
    weight = torch.linspace(0.5, 2, 5)
    share = torch.linspace(0, 2, 7)
    for settings, options in (({}, {}), ({"weight": weight}, {}), ({}, {"sample_weight": share})):
        compare(losses.get(spec, reduction=reduction, **settings), logits, target, 1e-5, **options)


@pytest.mark.parametrize(
    "spec",
    ["gce", "nce", "mse", "gr(normalize='none')", "10*nce + 0.1*agce(a=1.8, q=3)", "truncated_gce", "cr(ce)"],
)
def test_second_derivatives(spec, operator):
    compare_curvature(losses.get(spec), *batch(5, 6))


class Entropy(StatisticsLoss):
    """Cross entropy and the entropy of the softmax, which needs the sum of p z."""

    name = "entropy"
    wanted = Wanted(products=True)

    def value_and_partials(self, row, classes):
        value = row.logsumexp - row.sum_pz - torch.nn.functional.logsigmoid(row.margin)
        one = torch.ones_like(value)
        return value, Partials(-torch.sigmoid(-row.margin), logsumexp=one, sum_pz=-one)


@pytest.mark.parametrize("spec", ["gce", "cr(ce)", "peer(ce)"])
def test_derivatives_in_forward_mode_go_around_the_operator(spec, operator):
    logits, target = batch(6, 5)
    loss, tangent = losses.get(spec).eval(), torch.linspace(-1, 1, 30).reshape(6, 5)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(loss(forward_ad.make_dual(logits, tangent), target)).tangent
    (slope,) = torch.autograd.grad(loss(leaf := logits.clone().requires_grad_(), target), leaf)
    torch.testing.assert_close(found, (slope * tangent).sum(), rtol=1e-4, atol=1e-6)


def test_losses_users_write(operator):
    logits, target = batch(6, 5)
    written = [
        MarginLoss.from_emphasis(lambda p, rest: p * rest),
        MarginLoss.from_value(lambda p, rest: rest**3),
        Entropy(),
    ]
    for loss in written:
        compare(loss, logits, target, 1e-5)
    assert went_through(written[0], logits, target)
    assert not went_through(written[1], logits, target)
    assert went_through(written[2], logits, target)


SCHEDULE = {"factor": 1.0}


class Annealed(MarginLoss):
    """Reads a number that is no attribute of the loss, as a schedule would."""

    name = "annealed"

    def value(self, margin):
        return torch.sigmoid(-margin) * SCHEDULE["factor"]

    def emphasis(self, margin):
        return torch.sigmoid(margin) * torch.sigmoid(-margin) * SCHEDULE["factor"]


def test_a_loss_that_changes_is_recorded_anew(operator, monkeypatch):
    logits, target = batch(6, 5)
    mine, kept = Annealed(), []
    once = float(mine(logits, target))
    define, defined = cpu_operator._define, []
    monkeypatch.setattr(cpu_operator, "_define", lambda *of: defined.append(define(*of)) or defined[-1])
    for factor in range(2, 30):
        monkeypatch.setitem(SCHEDULE, "factor", float(factor))
        for _ in range(2):
            assert float(mine(logits, target)) == pytest.approx(factor * once, rel=1e-6)
    gc.collect()
    assert len(set(defined)) == 28, "one program for every factor"
    for number in defined:
        with pytest.raises(IndexError, match="no loss number") if number != defined[-1] else nullcontext():
            operator(logits, target, None, number, -100, 1)
            kept.append(number)
    assert kept == defined[-1:], "programs pile up"


def test_gradients_do_not_depend_on_threads(operator):
    logits, target = batch(300, 200)
    _, wanted = step(losses.get("nce"), logits, target)
    found = {}

    def work(name):
        found[name] = step(losses.get("nce"), logits, target)[1]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(gradient, wanted) for gradient in found.values())


def test_the_gradient_belongs_to_its_receiver(operator):
    """The buffer of the forward pass is handed over once; what happens to it is no one else's business."""
    logits, target = batch(6, 5)
    leaf = logits.clone().requires_grad_()
    value = losses.get("gce")(leaf, target)
    (first,) = torch.autograd.grad(value, leaf, retain_graph=True)
    kept = first.clone()
    first.zero_()
    (second,) = torch.autograd.grad(value, leaf)
    assert torch.equal(second, kept)


def test_no_gradient_is_formed_where_none_is_asked_for(operator):
    logits, target = batch(6, 5)
    loss = losses.get("gce")
    wanted = loss(logits.clone().requires_grad_(), target).detach()
    assert torch.equal(loss(logits, target), wanted)
    with torch.no_grad():
        assert torch.equal(loss(logits.clone().requires_grad_(), target), wanted)
    with torch.inference_mode():
        assert torch.equal(loss(logits.clone(), target), wanted)


def test_mistakes_are_named_as_ever(operator):
    logits, target = batch(6, 5)
    with pytest.raises(ValueError, match=r"target\[2\] = 7 is not a valid class index"):
        losses.get("gce")(logits, target.index_fill(0, torch.tensor(2), 7))
    with pytest.raises(ValueError, match=r"logits\[3, 0\] = nan"):
        losses.get("gce")(
            logits.index_put((torch.tensor(3), torch.tensor(0)), torch.tensor(torch.nan)), target
        )
    with pytest.raises(ValueError, match="masked class cannot be the target"):
        losses.get("nce")(torch.tensor([[0.0, -torch.inf, 0.0]]), torch.tensor([1]))


@pytest.mark.parametrize(
    "spec", ["ce", "gce", "gr(normalize='none')", "nce", "mse", "gls", "nfl", "cr(ce)", "peer(ce)"]
)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("stray", [[torch.nan], [torch.inf], [-torch.inf] * 5])
def test_logits_that_are_not_finite_are_named_where_a_gradient_is_formed(stray, reduction, spec, operator):
    logits, target = batch(6, 5)
    logits[3, : len(stray)] = torch.tensor(stray)
    with pytest.raises(ValueError, match=r"logits(\[3| of row 3)"):
        losses.get(spec, reduction=reduction)(logits.requires_grad_(), target)


@pytest.mark.parametrize(
    "spec", ["ce", "gr(normalize='none')", "nce", "mse", "gls", "nfl", "cr(ce)", "cr(gce)", "peer(ce)"]
)
def test_a_row_with_no_class_but_the_label(spec, operator):
    logits, target = batch(6, 5)
    logits[3] = torch.where(torch.arange(5) == target[3], 0.0, -torch.inf)
    with pytest.raises(ValueError, match="masks every class but the label"):
        losses.get(spec)(logits.requires_grad_(), target)


def test_who_takes_the_operator(operator, monkeypatch):
    logits = torch.zeros(2, 3)
    assert apply.uses_operator(logits)
    assert not apply.uses_operator(logits.double())
    assert not apply.uses_operator(logits[:0])
    assert not apply.uses_operator(logits.to("meta"))
    monkeypatch.setattr(apply, "enabled", False)
    assert not apply.uses_operator(logits)
    assert "NOISEPROOF_KERNELS=reference" in apply.operator_state()


def test_the_operator_keeps_the_rules_of_torch(operator):
    logits, target = batch(6, 5)
    recording = recording_of(losses.get("gce").row_function(5))
    number = cpu_operator._define(recording, by_mean=False)
    arguments = (logits[2:].requires_grad_(), target[2:], None, number, -100, 1)
    loss = torch.ops.noiseproof_cpu.loss.default
    torch.library.opcheck(
        loss, arguments, test_utils=("test_schema", "test_autograd_registration", "test_faketensor")
    )


class Naive(losses.MarginLoss):
    """Written without care for what underflows and overflows."""

    name = "naive"

    def value(self, margin):
        return -torch.sigmoid(margin).log() + margin.exp()

    def emphasis(self, margin):
        return 1 - torch.sigmoid(margin) - margin.exp()


@pytest.mark.parametrize("margin", [-1e4, 1e4])
def test_numbers_leave_the_range_as_they_do_in_torch(operator, margin):
    """What is infinite must not pass for a large number."""
    logits, target = torch.tensor([[margin, 0.0], [1.0, 0.0]]), torch.tensor([0, 0])
    assert went_through(Naive(), logits, target)
    found = Naive(reduction="none")(logits, target)
    torch.testing.assert_close(found[1], -torch.sigmoid(torch.tensor(1.0)).log() + torch.e, rtol=1e-5, atol=0)
    assert found[0] == torch.inf


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("beta", [0.0, 0.7, 3.0])
def test_a_weighted_sum_of_z(reduction, beta, operator):
    prior = torch.tensor([3.0, 0.0, 1.0, 2.0, 1.0])
    loss = losses.CR("ce", beta=beta, prior=prior, reduction=reduction)
    assert went_through(loss, *batch(70, 5))
    compare(loss, *batch(70, 5), 1e-5, floor=1e-2)
    with pytest.raises(ValueError, match="prior has 5 entries, the logits 7 classes"):
        loss(*batch(9, 7))


def test_weights_are_for_losses_of_margin_and_sum_of_z(operator):
    logits, target = batch(9, 5)
    recording = recording_of(losses.get("mse").row_function(5))
    with pytest.raises(ValueError, match="margin and sum of z only"):
        cpu_operator.run(recording, False, logits, target, torch.ones(5), -100, "mean")
    recording = recording_of(losses.get("nce").row_function(5))
    for weights in (torch.ones(4), torch.ones(5).double(), torch.ones(10)[::2]):
        with pytest.raises(ValueError, match="one float32 weight per class"):
            cpu_operator.run(recording, False, logits, target, weights, -100, "mean")


@pytest.mark.parametrize("spec", ["gce", "nce", "cr(ce)", "peer(ce)", "10*nce + nfl"])
def test_losses_name_mistakes(spec, operator):
    names_mistakes(losses.get(spec), *batch(6, 5))


class NamedSum(MarginLoss):
    """Of a user: neither a sum nor a program."""

    name = "sum"

    def value(self, margin):
        return 1 - torch.erf(margin)

    def emphasis(self, margin):
        return 2 / torch.pi**0.5 * torch.exp(-margin.square())


def test_a_loss_called_sum_is_not_taken_for_one(operator):
    assert not went_through(NamedSum(), *batch(9, 5))
    compare(NamedSum(), *batch(9, 5), 1e-4, floor=1e-2)


def test_factors_beyond_integers_of_a_machine(operator):
    for spec in (f"{10**30}*nce + mae", f"{10**30}*nce + nfl"):
        assert losses.get(spec)(*batch(9, 5)).isfinite()
