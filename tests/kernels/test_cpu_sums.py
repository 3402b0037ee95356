"""Sums with nfl on the compiled CPU operator, against the torch expressions in float64."""

import pytest
import torch
from operator_checks import compare, compare_curvature, names_mistakes, went_through
from row_batches import TOLERANCE, batch

from noiseproof import losses
from noiseproof.losses import MarginLoss, compiled, compiled_sums
from noiseproof.losses.compiled import number_of
from noiseproof.losses.compiled_sums import one_over_all

AT_ONCE = [
    *("nfl + mae", "nfl + rce", "10*nfl + 0.1*agce(a=1.8, q=3)", "0.3*nfl(gamma=2) + gce + 2*ce"),
    *("10*nce + nfl", "nfl + gls(alpha=-0.4) + mae"),
]
BY_PARTS = ["nfl + mse", "nfl + nce + mse", 'ce + 3*gr(normalize="batch")', "nfl + 2*nfl(gamma=2)"]


@pytest.mark.parametrize("spec", AT_ONCE)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_one_pass_for_a_normalized_loss_and_losses_of_margin_and_sum(spec, reduction, operator):
    loss = losses.get(spec, reduction=reduction)
    assert number_of(loss, 5) is not None
    assert went_through(loss, *batch(70, 5))
    compare(loss, *batch(70, 5), 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", BY_PARTS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_others_part_by_part(spec, reduction, operator):
    loss = losses.get(spec, reduction=reduction)
    assert number_of(loss, 5) is None
    assert went_through(loss, *batch(70, 5))
    compare(loss, *batch(70, 5), 1e-5, floor=1e-2)


def test_a_mean_over_several_processes_is_left_to_torch(operator, monkeypatch):
    monkeypatch.setattr(compiled_sums, "has_company", lambda: True)
    assert not went_through(losses.get('ce + gr(normalize="batch")'), *batch(9, 5))
    assert went_through(losses.get("nce + nfl"), *batch(9, 5))


@pytest.mark.parametrize("classes", [2, 3, 15, 17, 100, 1000])
@pytest.mark.parametrize("spec", ["nfl + mae", "10*nce + nfl", "peer(nfl + rce)", "peer(nfl + 2*nce)"])
def test_any_number_of_classes(spec, classes, operator):
    logits, target = batch(200 if classes <= 100 else 9, classes)
    if classes == 2:  # all labels are 0 otherwise, and peers cancel
        target = torch.where(target == -100, target, torch.arange(200) % 2)
    compare(losses.get(spec).eval(), logits, target, 1e-5, floor=1e-2)


@pytest.mark.parametrize("spread", [0.1, 10.0, 40.0])
@pytest.mark.parametrize("spec", ["nfl + mae", "2*nfl + ce", "10*nce + nfl", "nfl + gls", "peer(nfl + gls)"])
def test_rows_with_a_sure_class_and_without(spec, spread, operator):
    generator = torch.Generator().manual_seed(0)
    logits = spread * torch.randn(130, 10, generator=generator)
    target = torch.randint(10, (130,), generator=generator)
    compare(losses.get(spec).eval(), logits, target, 1e-5, floor=1e-2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("spec", ["nfl + mae", "nfl + nce"])
def test_half_precision(spec, dtype, operator):
    compare(losses.get(spec), *batch(9, 37, dtype), TOLERANCE[dtype], floor=1e-2)


@pytest.mark.parametrize("spec", ["nfl + mae", "3*nfl + gce", "nce + nfl"])
def test_second_derivatives(spec, operator):
    compare_curvature(losses.get(spec), *batch(5, 6))


@pytest.mark.parametrize("spec", ["nfl + mae", "10*nce + nfl"])
def test_a_second_backward_pass_forms_the_gradient_anew(spec, operator):
    logits, target = batch(20, 5)
    leaf = logits.requires_grad_()
    value = losses.get(spec)(leaf, target)
    first = torch.autograd.grad(value, leaf, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(value, leaf), first)


def test_a_part_users_write(operator):
    loss = losses.get("nfl") + MarginLoss.from_emphasis(lambda p, rest: p * rest)
    compare(loss, *batch(70, 5), 1e-5, floor=1e-2)


@pytest.mark.parametrize("spec", ["nfl + nfl(gamma=2)", "nce + mae", 'nfl + gr(normalize="batch")'])
def test_what_is_no_such_sum(spec):
    assert one_over_all(losses.get(spec)) is None


@pytest.mark.parametrize("spec", ["nfl + mse", "nfl + cr(ce)", "nfl + mae + peer(ce)"])
def test_what_asks_for_more_than_margin_and_sum(spec):
    assert one_over_all(losses.get(spec)).of_rows(5) is None


def test_other_sums_are_refused_by_the_operator(operator):
    define = torch.ops.noiseproof_cpu.define_sum
    with pytest.raises(IndexError, match="no loss number"):
        define(10**9, 1.0, 0)
    names = ("ce", "nfl", "nce", "mse", 'gr(normalize="batch")')
    ce, nfl, nce, mse, gr = (number_of(losses.get(name), 5) for name in names)
    assert len({ce, nfl, nce, define(nfl, 1.0, ce), define(nfl, 1.0, nce)}) == 5
    others = (ce, ce), (nfl, nfl), (nfl, mse), (nfl, gr), (ce, nfl), (define(nfl, 1.0, ce), ce)
    for first, second in others:
        with pytest.raises(ValueError, match="takes a loss of every class and one of margin and sum of z"):
            define(first, 1.0, second)


@pytest.mark.parametrize("spec", ["nfl + mae", "nce + nfl"])
def test_mistakes_are_named(spec, operator):
    names_mistakes(losses.get(spec), *batch(6, 5))


@pytest.mark.parametrize(
    "spec",
    [
        "nfl + scale(mae, num_classes=1000)",
        "nfl + scale(ce, tau=0.02)",
        "10*nce + nfl",
        "nfl + gls",
        "cr(scale(ce, tau=0.5))",
        "nfl + mae",
    ],
)
def test_a_label_so_sure_that_others_are_beyond_floats(spec, operator):
    """Torch expressions know its margin."""
    logits = torch.tensor([[100.0, 0.0, 0.0], [0.0, 1.0, 2.0], [88.0, 0.0, 0.0], [0.0, 120.0, -300.0]])
    compare(losses.get(spec), logits, torch.tensor([0, 1, 0, 1]), 1e-5, floor=1e-2)


class NamedSum(MarginLoss):
    """Of a user: no sum, and no program."""

    name = "sum"

    def value(self, margin):
        return 1 - torch.erf(margin)

    def emphasis(self, margin):
        return 2 / torch.pi**0.5 * torch.exp(-margin.square())


def test_a_loss_called_sum_is_not_taken_for_one(operator):
    compare(NamedSum(), *batch(9, 5), 1e-4, floor=1e-2)


def test_numbers_that_were_forgotten_are_found_again(operator, monkeypatch):
    monkeypatch.setattr(compiled, "_numbers", {})
    monkeypatch.setattr(compiled, "MOST_KNOWN", 6)
    kept = [losses.get(spec) for spec in ("nce + nfl", "ce")]
    for q in range(1, 20):
        for loss in (*kept, losses.get(f"nfl + gce(q={q / 20})")):
            loss(*batch(9, 5))
    for loss in kept:
        loss(*batch(9, 5))
        assert went_through(loss, *batch(9, 5))


def test_factors_beyond_whole_numbers_of_a_machine(operator):
    for spec in (f"{10**30}*nfl + mae", f"{10**30}*nce + nfl"):
        assert losses.get(spec)(*batch(9, 5)).isfinite()
