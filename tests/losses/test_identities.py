"""Special cases in which one loss equals another (spec 1.4)."""

import pytest
import torch

from noiseproof.losses import get
from noiseproof.losses.nal import nal_fixed_value

MARGINS = torch.linspace(-30, 30, 241, dtype=torch.float64)

EQUAL = [
    ('gr(beta=2, lam=0, g="identity")', "ce"),
    ('gr(beta=4, lam=1, g="identity")', "mae"),
    ('gr(beta=2, lam=0.3, g="identity")', "gce(q=0.3)"),
    ("rce(A=-2)", "mae"),
    ("tce(order=1)", "0.5*mae"),
    ("tce(order=2)", "aul(a=2, q=2)"),
    ("aul(a=7, q=1)", "0.5*mae"),
    ("agce(a=7, q=1)", "0.5*mae"),
    ("gce(q=1)", "0.5*mae"),
    ("focal(gamma=0)", "ce"),
    ("sce(q=0)", "ce"),
    ("sce(q=1)", "0.5*mae"),
    ("imae(T=8)", "gr(beta=8, lam=1)"),
    ("sl(alpha=0.1, beta=1, A=-4)", "4.1*sce(q=0.9756097560975611)"),
    ("sl(alpha=6, beta=0.1, A=-4)", "6.4*sce(q=0.0625)"),
    ("sl(alpha=2, beta=3, A=-5)", "2*ce + 3*rce(A=-5)"),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal_losses(left, right):
    ours, theirs = get(left), get(right)
    torch.testing.assert_close(ours.emphasis(MARGINS), theirs.emphasis(MARGINS), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(ours.value(MARGINS), theirs.value(MARGINS), rtol=1e-12, atol=1e-12)


LIMITS = [
    ("tce(order=1000)", "ce", 1.0, 1e-7),
    ("gce(q=1e-9)", "ce", 1.0, 1e-6),
    ("agce(a=1e-9, q=0.7)", "gce(q=0.7)", 1.0, 1e-5),
    ("ael(q=1e9)", "0.5*mae", 1e9, 1e-6),
    ("nal_fixed(tau=0.999999999)", "ce", 1.0, 1e-5),
]


@pytest.mark.parametrize(("near", "limit", "factor", "tolerance"), LIMITS)
def test_limits_of_the_emphasis(near, limit, factor, tolerance):
    margins = torch.linspace(-4, 20, 97, dtype=torch.float64)
    found = factor * get(near).emphasis(margins)
    torch.testing.assert_close(found, get(limit).emphasis(margins), rtol=tolerance, atol=1e-12)


@pytest.mark.parametrize(
    ("alpha", "beta", "A", "q"),
    [
        (0.01, 1, -4, 0.99751),
        (0.1, 1, -4, 0.97561),
        (0.1, 1, -6, 0.98361),
        (6, 0.1, -4, 0.0625),
        (0.1, 5, -4, 0.99502),
        (2, 0.1, -4, 0.16667),
    ],
)
def test_sl_equals_scaled_sce(alpha, beta, A, q):
    scale = alpha - A * beta
    sl = get(f"sl(alpha={alpha}, beta={beta}, A={A})").emphasis(MARGINS) / scale
    torch.testing.assert_close(sl, get(f"sce(q={q})").emphasis(MARGINS), rtol=1e-4, atol=1e-5)


def test_gr_with_beta_zero_has_constant_emphasis():
    emphasis = get("gr(beta=0, saturation=None)").emphasis(MARGINS)
    assert torch.equal(emphasis, torch.full_like(emphasis, 0.5))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_nal_scales_gradient_of_ce_by_less_than_tau(tau):
    margins = torch.linspace(-15, 15, 61, dtype=torch.float64)
    phi = get(f"nal_fixed(tau={tau})").emphasis(margins) / get("ce").emphasis(margins)
    p = torch.sigmoid(margins)
    torch.testing.assert_close(phi, p / (p - 1 + 1 / tau))
    assert (phi > 0).all()
    assert (phi < tau).all()


@pytest.mark.parametrize("lam", [0.5, 10.0, 50.0])
def test_optimal_tau_of_nal(lam):
    """For a fixed p the sum -log(tau p + 1 - tau) - lam log tau is least at min(1, lam/((1+lam)(1-p)))."""
    taus = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
    for p in (0.01, 0.2, 0.6, 0.95):
        margin = torch.logit(torch.tensor([p], dtype=torch.float64))
        mixed = torch.stack([nal_fixed_value(margin, tau=float(tau)) for tau in taus]).squeeze(1)
        best = float(taus[(mixed - lam * taus.log()).argmin()])
        assert abs(best - min(1.0, lam / ((1 + lam) * (1 - p)))) < 2e-3


def test_sl_gradient_matches_the_paper():
    """alpha = beta = 1: z_y gets p - 1 - (A p^2 - A p), the others p_j - A p_j p."""
    logits = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([0, 1, 2, 3, 0])
    leaf = logits.clone().requires_grad_()
    A = -4.0
    (gradient,) = torch.autograd.grad(get("sl(alpha=1, beta=1, A=-4)", reduction="sum")(leaf, target), leaf)
    every = logits.softmax(1)
    p = every.gather(1, target[:, None])
    wanted = every - A * every * p
    wanted.scatter_(1, target[:, None], p - 1 - (A * p**2 - A * p))
    torch.testing.assert_close(gradient, wanted)
