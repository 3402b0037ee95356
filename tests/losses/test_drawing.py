import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from noiseproof.losses import curve, expected_margin
from noiseproof.losses.curves.drawing import (
    COLOURS,
    DASHES,
    MARGINS,
    grid,
    plot_curve,
    plot_curves,
    plot_initial_margins,
    short,
    simulate_initial_margins,
)


@pytest.fixture(autouse=True)
def _close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def curves(*specs: str):
    return [curve(spec, 10) for spec in specs]


def legend_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    "draw",
    [
        lambda **where: curve("mae").plot(**where),
        lambda **where: plot_curve(curve("mae"), **where),
        lambda **where: plot_curves(curves("mae", "ce"), **where),
    ],
    ids=["method", "plot_curve", "plot_curves"],
)
def test_plots_use_given_axes_or_create_axes(draw):
    ax = plt.subplots()[1]
    assert draw(ax=ax) is ax
    assert plt.get_fignums() == [1]
    own = draw()
    assert isinstance(own, Axes)
    assert own is not ax
    assert plt.get_fignums() == [1, 2]


@pytest.mark.parametrize(("x", "label"), [("p", "probability of the label, p"), ("margin", "margin Δ")])
def test_plots_label_both_axes(x, label):
    ax = curve("gce").plot(x=x)
    assert (ax.get_xlabel(), ax.get_ylabel()) == (label, "emphasis")
    assert ax.get_ylim()[0] == 0


@pytest.mark.parametrize("spec", ["ce", "mae", "gr", "scale(mae, tau=2.6)"])
def test_line_over_p_is_the_emphasis(spec):
    found = curve(spec, 100)
    p, height = found.plot(x="p").lines[0].get_data()
    assert (min(p), max(p)) == pytest.approx((0, 1), abs=1e-6)
    np.testing.assert_allclose(height, found.emphasis(torch.logit(torch.as_tensor(p))))


@pytest.mark.parametrize("spec", ["ce", "mae", "gr", "scale(mae, tau=2.6)"])
def test_line_over_margin_is_the_emphasis(spec):
    found = curve(spec, 100)
    margin, height = found.plot(x="margin").lines[0].get_data()
    assert (min(margin), max(margin)) == MARGINS
    np.testing.assert_allclose(height, found.emphasis(torch.as_tensor(margin)))


@pytest.mark.parametrize("x", ["q", "", "P", "Margin", None, 3])
@pytest.mark.parametrize(
    "draw",
    [lambda x: curve("mae").plot(x=x), lambda x: plot_curves(curves("mae", "ce"), x=x)],
    ids=["plot", "plot_curves"],
)
def test_unknown_x_raises_value_error(draw, x):
    with pytest.raises(ValueError) as caught:
        draw(x)
    assert f"x={x!r} is unknown, choose one of 'p', 'margin'" in str(caught.value)


def test_legend_lists_losses_in_order():
    ax = plot_curves(curves("ce", "gce(q=0.4)", "imae", "gr(lam=1)"))
    assert legend_of(ax) == ["ce", "gce(q=0.4)", "imae(T=8.0)", "gr(beta=8.0, lam=1.0)"]


def test_curves_differ_in_colour_and_dash():
    ax = plot_curves(curves("ce", "mae", "gce", "sce", "aul", "agce", "ael", "tce"))
    assert [line.get_color() for line in ax.lines] == list(COLOURS)
    assert len({str(dash) for dash in DASHES}) == len(DASHES) == len(COLOURS)


def test_more_curves_than_colours_can_be_drawn():
    ax = plot_curves(curves(*[f"gce(q={0.1 * k:.1f})" for k in range(1, 11)]))
    assert len(ax.lines) == len(legend_of(ax)) == 10


def test_unit_curves_have_maximum_one():
    ax = plot_curves(curves("ce", "mae", "gr"), x="margin", unit=True)
    tops = [max(line.get_ydata()) for line in ax.lines]
    assert tops == pytest.approx([1, 1, 1], abs=1e-3)
    assert ax.get_ylabel() == "emphasis / its maximum"


def test_factor_two_plots_the_gradient_norm():
    found = curve("mae")
    plain, doubled = plot_curve(found), plot_curve(found, factor=2.0)
    np.testing.assert_allclose(doubled.lines[0].get_ydata(), 2 * plain.lines[0].get_ydata())
    assert doubled.get_ylabel() == "weight (L1 norm of the gradient)"


def test_line_options_override_defaults():
    line = plot_curve(curve("mae"), color="#123456", label="own", linewidth=3.0).lines[0]
    assert (line.get_color(), line.get_label(), line.get_linewidth()) == ("#123456", "own", 3.0)


@pytest.mark.parametrize("x", ["p", "margin"])
def test_grid_returns_points_and_their_margins(x):
    horizontal, margin = grid(x)
    wanted = margin if x == "margin" else torch.sigmoid(margin)
    torch.testing.assert_close(horizontal, wanted)
    assert bool((horizontal.diff() > 0).all())
    assert bool(margin.isfinite().all())


def test_short_omits_default_settings():
    every = 'gr(beta=8.0, lam=0.5, g="exp", saturation=17.33, normalize="batch")'
    assert short(every) == "gr(beta=8.0, lam=0.5)"
    other = 'gr(beta=8.0, lam=0.5, g="identity", saturation=2.0, normalize="none")'
    assert short(other) == other
    assert short("gce(q=0.7)") == "gce(q=0.7)"


@pytest.mark.parametrize("classes", [2, 3, 10, 100, 1000])
def test_simulated_margins_have_the_expected_mean(classes):
    margin = simulate_initial_margins(classes)
    assert margin.shape == (20000,)
    standard_error = float(margin.std()) / 20000**0.5
    assert float(margin.mean()) == pytest.approx(expected_margin(classes), abs=4 * standard_error)


def test_simulated_margins_are_reproducible_and_keep_global_rng_state():
    before = torch.get_rng_state()
    first, second = simulate_initial_margins(10), simulate_initial_margins(10)
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("samples", [1, 999, 1000, 1001, 2500])
def test_number_of_simulated_margins(samples):
    assert simulate_initial_margins(3, samples).shape == (samples,)


@pytest.mark.parametrize("x", ["p", "margin"])
def test_initial_margins_are_behind_curves_and_in_legend(x):
    ax = plot_curves(curves("ce", "mae"), x=x)
    top = ax.get_ylim()[1]
    assert plot_initial_margins(10, ax=ax, x=x) is ax
    assert plot_initial_margins(100, ax=ax, x=x, number=1) is ax
    starts = [f"start, {classes} classes,\nsimulated N(0, 1) logits" for classes in (10, 100)]
    assert legend_of(ax) == ["ce", "mae", *starts]
    assert len(ax.collections) == 2
    assert all(fill.get_zorder() < line.get_zorder() for fill in ax.collections for line in ax.lines)
    assert ax.get_ylim()[1] == pytest.approx(top, rel=0.1)


@pytest.mark.parametrize("classes", [3, 10, 100])
def test_density_of_initial_margins_is_highest_at_expected_margin(classes):
    ax = plot_curves(curves("ce"), x="margin")
    plot_initial_margins(classes, ax=ax, x="margin")
    outline = ax.collections[0].get_paths()[0].vertices
    highest = outline[outline[:, 1].argmax(), 0]
    assert highest == pytest.approx(expected_margin(classes), abs=0.75)


def test_drawing_renders_without_a_warning(tmp_path):
    ax = plot_curves(curves("ce", "gr"), x="margin", unit=True)
    plot_initial_margins(10, ax=ax)
    ax.figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
