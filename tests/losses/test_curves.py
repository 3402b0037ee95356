"""Focus, spread, peak and initial emphasis of curves against the tables of the specification."""

import math

import pytest
import torch

from noiseproof.losses import curve, expected_margin, get


def root_aul(a, q):
    return ((2 * a + q) - math.sqrt((2 * a + q) ** 2 - 4 * a * (q + 1))) / (2 * (q + 1))


def root_agce(a, q):
    return ((q - 2 * a) + math.sqrt((q - 2 * a) ** 2 + 4 * a * (q + 1))) / (2 * (q + 1))


@pytest.mark.parametrize(
    ("spec", "focus"),
    [
        ("ce", 0.0),
        ("focal(gamma=2)", 0.05785),
        ("mae", 0.5),
        ("sl(alpha=0.1, beta=1, A=-4)", 0.5 - 0.1 / 8),
        ("sl(alpha=6, beta=0.1, A=-4)", 0.0),
        ("sce(q=0.7)", 0.4 / 1.4),
        ("sce(q=0.3)", 0.0),
        ("gce(q=0.7)", 0.7 / 1.7),
        ("truncated_gce(q=0.7, k=0.5)", 0.5),
        ("truncated_gce(q=0.7, k=0.1)", 0.7 / 1.7),
        ("aul(a=1.1, q=5)", root_aul(1.1, 5)),
        ("aul(a=3, q=0.7)", root_aul(3, 0.7)),
        ("agce(a=0.1, q=0.1)", root_agce(0.1, 0.1)),
        ("agce(a=3, q=4)", root_agce(3, 4)),
        ("ael(q=2.5)", (6 - math.sqrt(26)) / 2),
        ("gr(beta=8, lam=0.5)", 1 / 3),
        ("gr(beta=12, lam=2)", 2 / 3),
        ("gr(beta=2, lam=0)", 0.0),
        ("imae(T=8)", 0.5),
        ("nal_fixed(tau=0.5)", math.sqrt(0.5) / (1 + math.sqrt(0.5))),
    ],
)
def test_focus(spec, focus):
    assert curve(spec).focus == pytest.approx(focus, abs=6e-6)


def test_focus_of_constant_emphasis_is_nan():
    assert math.isnan(curve("imae(T=0)").focus)
    assert curve("imae(T=0)").peak == 0.5


@pytest.mark.parametrize(
    ("spec", "spread"),
    [
        ("ce", 1 / 3),
        ("mae", 4 / 45),
        ("imae(T=0)", 0.0),
        ("imae(T=0.5)", 0.001604),
        ("imae(T=1)", 0.007425),
        ("imae(T=2)", 0.040043),
        ("imae(T=4)", 0.298501),
        ("imae(T=8)", 4.546085),
        ("imae(T=12)", 43.266),
        ("imae(T=16)", 354.113),
        ("gr(beta=2, lam=0)", 3.1945),
        ("gr(beta=8, lam=0.5)", 50.409),
        ("gr(beta=12, lam=0.5)", 1257.7),
        ("gr(beta=12, lam=2)", 2.9780),
        ("gr(beta=6, lam=0.3)", 40.968),
    ],
)
def test_spread(spec, spread):
    assert curve(spec).spread == pytest.approx(spread, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("T", [0.5, 2.0, 8.0])
def test_spread_of_imae_in_closed_form(T):
    half = math.exp(T / 2)
    second = math.sqrt(math.pi) * math.erf(math.sqrt(2 * T) / 2) * half / math.sqrt(2 * T)
    mean = math.pi * math.erf(math.sqrt(T) / 2) ** 2 * half / T
    assert curve(f"imae(T={T}, saturation=None)").spread == pytest.approx(second - mean, rel=1e-6)


STARTS = [
    ("ce", 1, 0.931, 0.994, 0.998),
    ("focal(gamma=2)", 1.12898, 0.998, 0.924, 0.899),
    ("sce(q=0.7)", 0.357143, 0.908, 0.847, 0.842),
    ("gce(q=0.3)", 0.495462, 0.843, 0.435, 0.288),
    ("gce(q=0.4)", 0.432758, 0.738, 0.300, 0.172),
    ("gce(q=0.7)", 0.316086, 0.453, 0.0890, 0.0337),
    ("sce(q=0.95)", 0.263158, 0.409, 0.211, 0.195),
    ("aul(a=1.1, q=5)", 0.105740, 0.687, 0.0827, 0.0209),
    ("agce(a=0.1, q=0.1)", 0.482540, 0.660, 0.0952, 0.0247),
    ("aul(a=2, q=2)", 0.384900, 0.322, 0.0316, 0.0079),
    ("mae", 0.5, 0.257, 0.0244, 0.0061),
    ("aul(a=3, q=0.7)", 0.190086, 0.245, 0.0231, 0.0058),
    ("agce(a=1.6, q=2)", 0.532242, 0.202, 0.0184, 0.0046),
    ("agce(a=3, q=4)", 11.19744, 0.166, 0.0148, 0.0037),
]


@pytest.mark.parametrize(("spec", "peak", "ten", "hundred", "four_hundred"), STARTS)
def test_peak_and_initial_share(spec, peak, ten, hundred, four_hundred):
    found = curve(spec)
    assert found.peak == pytest.approx(peak, rel=4e-6)
    for classes, share in ((10, ten), (100, hundred), (400, four_hundred)):
        assert found.initial_share(classes) == pytest.approx(share, abs=7e-4 if share > 0.1 else 7e-5)
        assert found.initial(classes) == pytest.approx(share * peak, rel=1e-2)


def test_scale_and_shift_start_at_tau():
    mae = get("mae")
    for wrapped in ("scale(mae, tau=2.6)", "shift(mae, tau=2.6)"):
        start = curve(wrapped, 100).initial(100)
        assert start == pytest.approx(float(mae.emphasis(torch.tensor(-2.6, dtype=torch.float64))))
        assert curve(wrapped, 100).initial_share(100) == pytest.approx(0.2574, abs=5e-5)


def test_curve_of_scaled_loss_needs_number_of_classes():
    with pytest.raises(ValueError, match="number of classes"):
        curve("scale(mae, tau=2.6)")
    assert curve("scale(mae, tau=2.6, num_classes=100)").peak == pytest.approx(0.5)


@pytest.mark.parametrize("spec", ["nce", "cr(ce)", "binary(ce)", "10*nce + mae"])
def test_only_margin_losses_have_a_curve(spec):
    with pytest.raises(TypeError, match="MarginLoss"):
        curve(spec)


def test_plot_uses_given_axes():
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert curve("gce").plot(ax, x="margin") is ax
    assert len(ax.lines) == 1
    assert curve("gce").plot() is not ax
    plt.close("all")


def test_initial_is_emphasis_at_expected_margin():
    start = torch.tensor(expected_margin(37), dtype=torch.float64)
    assert curve("sl").initial(37) == pytest.approx(float(get("sl").emphasis(start)))


def test_curve_ignores_batch_normalisation():
    plain, normalised = curve("gr", 100), curve('gr(normalize="batch")', 100)
    assert normalised.initial_share(100) == plain.initial_share(100)
    assert normalised.spread == plain.spread


def test_asymmetry_of_zero_curve_is_nan():
    assert math.isnan(curve("shift(mae, by=1000)").asymmetry)
