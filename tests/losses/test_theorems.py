"""Theorems about symmetric and asymmetric losses (spec 1.8)."""

import pytest
import torch

from noiseproof.losses import curve, get

CLASSES = 7


def losses_of_every_class(spec):
    logits = 2 * torch.randn(50, CLASSES, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    loss = get(spec, reduction="none")
    columns = [loss(logits, torch.full((50,), k)) for k in range(CLASSES)]
    return torch.stack(columns, 1)


@pytest.mark.parametrize(
    ("spec", "total"), [("mae", 2 * (CLASSES - 1)), ("rce(A=-4)", 4 * (CLASSES - 1)), ("nce", 1)]
)
def test_symmetric_losses_sum_to_a_constant(spec, total):
    sums = losses_of_every_class(spec).sum(1)
    torch.testing.assert_close(sums, torch.full_like(sums, total))


@pytest.mark.parametrize("spec", ["ce", "gce(q=0.7)", "aul(a=2, q=2)", "imae(T=8)"])
def test_other_losses_do_not_sum_to_a_constant(spec):
    sums = losses_of_every_class(spec).sum(1)
    assert float(sums.max() - sums.min()) > 0.1


@pytest.mark.parametrize(
    ("spec", "total"), [("mae", 2.0 * (CLASSES - 1)), ("rce(A=-4)", 4.0 * (CLASSES - 1)), ("nce", 1.0)]
)
@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_symmetric_noise_scales_and_shifts_symmetric_losses(spec, total, rate):
    every = losses_of_every_class(spec)
    clean = every[:, 0]
    noisy = (1 - rate) * clean + rate / (CLASSES - 1) * (every.sum(1) - clean)
    wanted = (1 - rate * CLASSES / (CLASSES - 1)) * clean + rate * total / (CLASSES - 1)
    torch.testing.assert_close(noisy, wanted)


def test_is_symmetric():
    names = ["mae", "rce", "gce(q=1)", "tce(order=1)", "aul(a=4, q=1)", "agce(a=2, q=1)", "sce(q=1)"]
    assert all(curve(name).is_symmetric for name in names)
    others = ["ce", "gce(q=0.9)", "sl", "ael", "imae", "gr", "focal", "truncated_gce", "nal_fixed"]
    assert not any(curve(name).is_symmetric for name in others)


@pytest.mark.parametrize(
    ("spec", "ratio"),
    [
        ("mae", 1.0),
        ("ce", 0.0),
        ("gce(q=0.7)", 0.0),
        ("agce(a=0.1, q=0.1)", (0.1 / 1.1) ** 0.9),
        ("agce(a=3, q=4)", 1.0),
        ("aul(a=2, q=2)", 0.5),
        ("aul(a=3, q=0.7)", 1.0),
        ("ael(q=2.5)", 0.6703200460356393),
        ("imae(T=8)", 0.0),
    ],
)
def test_asymmetry_ratios(spec, ratio):
    assert curve(spec).asymmetry == pytest.approx(ratio, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("spec", ["agce(a=0.5, q=0.5)", "aul(a=1.5, q=3)", "ael(q=1)"])
def test_asymmetry_ratio_is_a_lower_bound(spec):
    loss, ratio = get(spec), curve(spec).asymmetry
    generator = torch.Generator().manual_seed(0)
    first = torch.rand(2000, dtype=torch.float64, generator=generator)
    second = (1 - first) * torch.rand(2000, dtype=torch.float64, generator=generator)

    def value(p):
        return loss.value(torch.logit(p.clamp(1e-12, 1 - 1e-12)))

    gain = value(first) - value(first + second)
    assert (gain >= ratio * (value(torch.zeros_like(second)) - value(second)) - 1e-9).all()


def test_asymmetric_loss_is_minimal_at_the_likeliest_class():
    """For labels distributed (0.6, 0.4) the expected loss is minimal at p = (1, 0)."""
    p = torch.linspace(1e-6, 1 - 1e-6, 2001, dtype=torch.float64)
    margin = torch.logit(p)
    for spec, robust in (("mae", True), ("aul(a=3, q=0.7)", True), ("ce", False), ("gce(q=0.3)", False)):
        loss = get(spec)
        expected = 0.6 * loss.value(margin) + 0.4 * loss.value(-margin)
        assert (float(p[expected.argmin()]) > 0.999) == robust
